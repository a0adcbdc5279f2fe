// A kubeconfig document as a bounded tree with paths for error messages. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_KUBE_CONFIG_YAML_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_KUBE_CONFIG_YAML_H_

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace driverupgrade {

// A YAML node and its path, for example "users[1].user". All functions may throw yaml-cpp exceptions.
// NOLINTNEXTLINE(bugprone-exception-escape): the assignment of a YAML::Node may throw.
struct YamlEntry {
  YAML::Node node = {};
  std::string path = {};

  // Returns the path of the member `key`.
  std::string PathOf(std::string_view key) const;
  // Returns true if the key exists and is not null.
  bool Has(const char* key) const;
  // Returns the text of a scalar, or an empty string if the value is absent or null. Errors: InvalidArgument if the
  // value is not a scalar, or contains a control character other than a line end or a tab.
  absl::StatusOr<std::string> Text(const char* key) const;
  // Returns false if the value is absent or null. Errors: InvalidArgument if the value is neither `true` nor `false`.
  absl::StatusOr<bool> Flag(const char* key) const;
  // Returns a mapping, which is empty if the value is absent or null. Errors: InvalidArgument for any other type.
  absl::StatusOr<YamlEntry> Mapping(const char* key) const;
  // Returns the mapping `inner` of the item with this name in the list `key`. Errors: NotFound; InvalidArgument if two
  // items have that name, or if an item is not a mapping.
  absl::StatusOr<YamlEntry> Named(const char* key, const char* inner, const std::string& name) const;
};

// Returns an error with the message "path: why".
absl::Status YamlError(absl::StatusCode code, std::string_view path, std::string_view why);

// Parses one document, which must be a mapping within the limits of KubeConfig::Parse and without duplicate keys. Does
// not throw.
absl::StatusOr<YamlEntry> LoadBoundedYaml(std::string_view text);

// Decodes standard base64 with padding, and ignores line ends. Errors: InvalidArgument, "not base64".
absl::StatusOr<std::string> DecodeBase64(std::string_view text);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_KUBE_CONFIG_YAML_H_
