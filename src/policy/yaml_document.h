// Reads one YAML or JSON document from an untrusted source.
#ifndef DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "yaml-cpp/yaml.h"

namespace driverupgrade::internal {

inline constexpr int kYamlNodesMax = 100'000;

/// Returns true if the text contains more than one document. YAML::Load ignores all documents after the first.
/// YAML::LoadAll never returns for a text such as `,`, which yaml-cpp 0.7 treats as an endless series of empty
/// documents. Throws the exceptions of the parser.
bool HasSeveralYamlDocuments(const std::string& text);

/// Parses the text of one document; an empty document becomes a null node. The node is safe to traverse, because its
/// depth and its size are limited even with aliases. Duplicate keys are kept, and yaml-cpp uses the first one, so
/// callers must check for duplicates. Errors: InvalidArgument, with line and column if known.
[[nodiscard]] absl::StatusOr<YAML::Node> LoadYaml(std::string_view text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_
