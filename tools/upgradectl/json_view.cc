#include "upgradectl/json_view.h"

// clang-format off: after base/rapidjson.h, whose settings it goes by.
#include <rapidjson/prettywriter.h>
// clang-format on

namespace upgradectl {
namespace {

std::string Spaces(int count) { return std::string(static_cast<std::size_t>(count), ' '); }

bool IsBranch(const json::Value& value) {
  return (value.IsObject() && !value.ObjectEmpty()) || (value.IsArray() && !value.Empty());
}

void AppendYaml(const json::Value& value, int indent, std::string& text);

// What stands after `key:` or `-`.
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

// Recurses: for documents of our own.
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

const json::Value* Find(const json::Value& value, JsonPath path) {
  const json::Value* current = &value;
  for (const char* name : path) {
    if (!current->IsObject()) return nullptr;
    const auto member = current->FindMember(name);
    if (member == current->MemberEnd()) return nullptr;
    current = &member->value;
  }
  return current;
}

json::Value::ConstArray Items(const json::Value& value, JsonPath path) {
  static const json::Value kNone(json::kArrayType);
  const json::Value* found = Find(value, path);
  return found != nullptr && found->IsArray() ? found->GetArray() : kNone.GetArray();
}

std::string Text(const json::Value& value, JsonPath path) {
  const json::Value* found = Find(value, path);
  if (found == nullptr || !found->IsString()) return {};
  return {found->GetString(), found->GetStringLength()};
}

std::int64_t Integer(const json::Value& value, JsonPath path, std::int64_t otherwise) {
  const json::Value* found = Find(value, path);
  return found != nullptr && found->IsInt64() ? found->GetInt64() : otherwise;
}

absl::Time TimeAt(const json::Value& value, JsonPath path) {
  absl::Time time;
  std::string error;
  return absl::ParseTime(absl::RFC3339_full, Text(value, path), &time, &error) ? time : absl::InfinitePast();
}

std::string Compact(const json::Value& value) {
  json::StringBuffer buffer;
  json::Writer<json::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string ToYaml(const json::Value& value) {
  if (!IsBranch(value)) return Compact(value) + "\n";
  std::string text;
  AppendYaml(value, 0, text);
  return text;
}

std::string ToPrettyJson(const json::Value& value) {
  json::StringBuffer buffer;
  json::PrettyWriter<json::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 2);
  value.Accept(writer);
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace upgradectl
