#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/policy_codec.h"
#include "policy/document.h"
#include "policy/policy_reader.h"
#include "policy/yaml_document.h"

namespace driverupgrade {
namespace {

using internal::DocumentValue;

// The tags that yaml-cpp sets for scalars without a tag in the document.
constexpr std::string_view kPlainTag = "?";
constexpr std::string_view kQuotedTag = "!";

// Converts a node that LoadYaml returned. LoadYaml limits the nesting depth, and thus the depth of this recursion.
DocumentValue ValueOf(const YAML::Node& node) {
  DocumentValue value{.mark = {.line = node.Mark().line, .column = node.Mark().column}, .entries = {}};
  if (node.Tag() != kPlainTag && node.Tag() != kQuotedTag) value.tag = node.Tag();
  if (node.IsScalar()) {
    value.kind = DocumentValue::Kind::kScalar;
    value.plain = node.Tag() == kPlainTag;
    value.text = node.Scalar();
  } else if (node.IsSequence()) {
    value.kind = DocumentValue::Kind::kList;
    for (const YAML::Node& item : node) value.entries.push_back({.name = DocumentValue(), .value = ValueOf(item)});
  } else if (node.IsMap()) {
    value.kind = DocumentValue::Kind::kMapping;
    for (const auto& entry : node) {
      value.entries.push_back({.name = ValueOf(entry.first), .value = ValueOf(entry.second)});
    }
  }
  return value;
}

absl::StatusOr<DocumentValue> Load(std::string_view document) {
  const absl::StatusOr<YAML::Node> node = internal::LoadYaml(document);
  if (!node.ok()) return node.status();
  return ValueOf(*node);
}

}  // namespace

absl::StatusOr<UpgradePolicy> ParseUpgradePolicy(std::string_view document, const PolicyDefaults& defaults) {
  return internal::ReadUpgradePolicy(Load(document), defaults, LoadRolloutTimeZone);
}

}  // namespace driverupgrade
