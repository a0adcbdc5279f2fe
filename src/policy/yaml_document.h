// Reads one YAML or JSON document that nobody has vetted.
#ifndef DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "yaml-cpp/yaml.h"

namespace driverupgrade::internal {

inline constexpr int kYamlNodesMax = 100'000;

/// YAML::Load takes the first document and forgets the rest, and YAML::LoadAll never comes back from a text like `,`,
/// which yaml-cpp 0.7 takes for an endless row of empty documents. Throws what the parser throws.
bool HasSeveralYamlDocuments(const std::string& text);

/// A null node for an empty document. It is safe to walk: its depth and the number of nodes on all its paths
/// are within the limits, whatever its aliases do. yaml-cpp keeps duplicate keys, and the first wins: look
/// out for them. Errors: InvalidArgument, with line and column where there is one.
[[nodiscard]] absl::StatusOr<YAML::Node> LoadYaml(std::string_view text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_YAML_DOCUMENT_H_
