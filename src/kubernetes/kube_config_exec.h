// Reads a user's exec entry in a kubeconfig. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_KUBE_CONFIG_EXEC_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_KUBE_CONFIG_EXEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "kubernetes/kube_config_yaml.h"

namespace driverupgrade {

// `exec` is the mapping of the entry. A command with a "/" is relative to `base_dir` (api-A68). May throw yaml-cpp
// exceptions. Errors: InvalidArgument; Unimplemented for a plugin that needs a terminal or information about the
// cluster.
absl::StatusOr<ExecPlugin> ReadExecPlugin(const YamlEntry& exec, const std::string& base_dir);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_KUBE_CONFIG_EXEC_H_
