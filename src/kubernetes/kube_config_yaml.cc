#include "kubernetes/kube_config_yaml.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "fmt/format.h"
#include "policy/yaml_document.h"

namespace driverupgrade {
namespace {

constexpr std::size_t kSizeMax = 1 << 20;
constexpr int kDepthMax = 32;
constexpr int kNodesMax = 100'000;

absl::Status InvalidConfig(std::string_view path, std::string_view why) {
  return YamlError(absl::StatusCode::kInvalidArgument, path, why);
}

std::string Join(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// Returns a key for an error message. Shortens untrusted text, and replaces characters that would break a line.
std::string Printable(std::string_view text) {
  std::string out(text.substr(0, 64));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return out;
}

// Rejects duplicate keys, which yaml-cpp silently keeps, and limits the depth and the number of nodes. Aliases share
// their nodes, so a document of a few hundred bytes can expand to a billion nodes. The check therefore counts the nodes
// again at each use of an alias. The depth limit also ends a cycle (`&a [*a]`).
class Bounds {
 public:
  absl::Status Check(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > kDepthMax) return InvalidConfig("", fmt::format("nested deeper than {}", kDepthMax));
    if (++nodes_ > kNodesMax) {
      return InvalidConfig("", fmt::format("more than {} nodes, with aliases expanded", kNodesMax));
    }
    if (node.IsSequence()) {
      std::size_t index = 0;
      for (const auto& item : node) {
        absl::Status status = Check(item, fmt::format("{}[{}]", path, index++), depth + 1);
        if (!status.ok()) return status;
      }
    }
    if (!node.IsMap()) return absl::OkStatus();
    std::set<std::string> keys;
    for (const auto& item : node) {
      if (!item.first.IsScalar()) return InvalidConfig(path, "keys must be strings");
      const std::string key_path = Join(path, Printable(item.first.Scalar()));
      if (!keys.insert(item.first.Scalar()).second) return InvalidConfig(key_path, "duplicate key");
      absl::Status status = Check(item.second, key_path, depth + 1);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  int nodes_ = 0;
};

bool IsForbiddenControl(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
}

}  // namespace

absl::Status YamlError(absl::StatusCode code, std::string_view path, std::string_view why) {
  return absl::Status(code, path.empty() ? std::string(why) : fmt::format("{}: {}", path, why));
}

std::string YamlEntry::PathOf(std::string_view key) const { return Join(path, key); }

bool YamlEntry::Has(const char* key) const {
  const YAML::Node& map = node;  // const, because operator[] would otherwise insert the key
  const YAML::Node value = map[key];
  return value.IsDefined() && !value.IsNull();
}

absl::StatusOr<std::string> YamlEntry::Text(const char* key) const {
  if (!Has(key)) return std::string();
  const YAML::Node& map = node;
  const YAML::Node value = map[key];
  if (!value.IsScalar()) return InvalidConfig(PathOf(key), "must be text");
  const std::string& text = value.Scalar();
  if (std::any_of(text.begin(), text.end(), IsForbiddenControl)) {
    return InvalidConfig(PathOf(key), "has a control character");
  }
  return text;
}

absl::StatusOr<bool> YamlEntry::Flag(const char* key) const {
  absl::StatusOr<std::string> text = Text(key);
  if (!text.ok()) return text.status();
  if (text->empty() || *text == "false") return false;
  if (*text == "true") return true;
  return InvalidConfig(PathOf(key), "must be true or false");
}

absl::StatusOr<YamlEntry> YamlEntry::Mapping(const char* key) const {
  if (!Has(key)) return YamlEntry{.node = YAML::Node(YAML::NodeType::Map), .path = PathOf(key)};
  const YAML::Node& map = node;
  const YAML::Node value = map[key];
  if (!value.IsMap()) return InvalidConfig(PathOf(key), "must be a mapping");
  return YamlEntry{.node = value, .path = PathOf(key)};
}

absl::StatusOr<YamlEntry> YamlEntry::Named(const char* key, const char* inner, const std::string& name) const {
  const YAML::Node& map = node;
  const YAML::Node list = map[key];
  std::vector<YamlEntry> found;
  if (Has(key) && !list.IsSequence()) return InvalidConfig(PathOf(key), "must be a list");
  for (std::size_t i = 0; Has(key) && i < list.size(); ++i) {
    const YamlEntry item{.node = list[i], .path = fmt::format("{}[{}]", PathOf(key), i)};
    if (!item.node.IsMap()) return InvalidConfig(item.path, "must be a mapping");
    absl::StatusOr<std::string> item_name = item.Text("name");
    if (!item_name.ok()) return item_name.status();
    if (*item_name != name) continue;
    if (!found.empty()) {
      return InvalidConfig(item.PathOf("name"), fmt::format("second one named \"{}\"", Printable(name)));
    }
    absl::StatusOr<YamlEntry> mapping = item.Mapping(inner);
    if (!mapping.ok()) return mapping.status();
    found.push_back(*std::move(mapping));
  }
  if (!found.empty()) return found.front();
  return YamlError(absl::StatusCode::kNotFound, PathOf(key), fmt::format("none is named \"{}\"", Printable(name)));
}

absl::StatusOr<YamlEntry> LoadBoundedYaml(std::string_view text) {
  if (text.size() > kSizeMax) return InvalidConfig("", fmt::format("longer than {} bytes", kSizeMax));
  try {
    const std::string document(text);
    if (internal::HasSeveralYamlDocuments(document)) return InvalidConfig("", "more than one document");
    const YAML::Node root = YAML::Load(document);
    if (root.IsNull()) return InvalidConfig("", "empty");
    if (!root.IsMap()) return InvalidConfig("", "not a mapping");
    absl::Status status = Bounds().Check(root, "", 1);
    if (!status.ok()) return status;
    return YamlEntry{.node = root};
  } catch (const YAML::Exception& e) {
    // Uses only the parser's own message, because the document may contain private keys.
    return InvalidConfig("", fmt::format("line {}: not YAML: {}", e.mark.line + 1, Printable(e.msg)));
  } catch (const std::exception& e) {
    return InvalidConfig("", fmt::format("not YAML: {}", Printable(e.what())));
  }
}

absl::StatusOr<std::string> DecodeBase64(std::string_view text) {
  std::string digits;
  digits.reserve(text.size());
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    // Checks the characters first, because Abseil skips blanks and accepts `.` as padding.
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '/' && c != '=') {
      return absl::InvalidArgumentError("not base64");
    }
    digits.push_back(c);
  }
  std::string out;
  if (digits.size() % 4 != 0 || !absl::Base64Unescape(digits, &out)) return absl::InvalidArgumentError("not base64");
  return out;
}

}  // namespace driverupgrade
