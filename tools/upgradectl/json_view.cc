#include "upgradectl/json_view.h"

#include <cstddef>

namespace upgradectl {
namespace {

std::string Spaces(int count) { return std::string(static_cast<std::size_t>(count), ' '); }

bool IsBranch(const json::Value& value) {
  return (value.IsObject() && !value.ObjectEmpty()) || (value.IsArray() && !value.Empty());
}

void AppendYaml(const json::Value& value, int indent, std::string& text);

// Appends the text after `key:` or `-`.
void AppendChild(const json::Value& value, int indent, bool in_list, std::string& text) {
  if (!IsBranch(value)) {
    text += " " + Compact(value) + "\n";
    return;
  }
  if (!in_list) {
    text += "\n";
    AppendYaml(value, indent, text);
    return;
  }
  std::string child;
  AppendYaml(value, indent, child);
  text += " " + child.substr(static_cast<std::size_t>(indent));
}

// Recursion is safe here, because only upgradectl's own documents are formatted.
void AppendYaml(const json::Value& value, int indent, std::string& text) {
  if (value.IsArray()) {
    for (const json::Value& item : value.GetArray()) {
      text += Spaces(indent) + "-";
      AppendChild(item, indent + 2, true, text);
    }
    return;
  }
  for (const auto& member : value.GetObject()) {
    text += Spaces(indent) + member.name.GetString() + ":";
    AppendChild(member.value, indent + 2, false, text);
  }
}

}  // namespace

std::string ToYaml(const json::Value& value) {
  if (!IsBranch(value)) return Compact(value) + "\n";
  std::string text;
  AppendYaml(value, 0, text);
  return text;
}

}  // namespace upgradectl
