// Reads one YAML or JSON document from an untrusted source.
#ifndef DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "yaml-cpp/yaml.h"

namespace driverupgrade::internal {

inline constexpr int kYamlNodesMax = 100'000;

/// YAML::Load uses the first document and ignores the rest, and YAML::LoadAll never returns from a text like `,`, which
/// yaml-cpp 0.7 treats as an endless series of empty documents. Throws what the parser throws.
bool HasSeveralYamlDocuments(const std::string& text);

/// Returns a null node for an empty document. The node is safe to walk: its depth and the number of nodes on all its
/// paths are within the limits, whatever its aliases do. yaml-cpp keeps duplicate keys, and the first counts: callers
/// must check for them. Errors: InvalidArgument, with line and column if known.
[[nodiscard]] absl::StatusOr<YAML::Node> LoadYaml(std::string_view text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_
