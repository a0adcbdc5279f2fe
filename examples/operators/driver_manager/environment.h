/// The settings of driver_manager, read from its environment in one place.
///
/// Defines Settings, Variable, Variables and ParseEnvironment.
///
///     absl::StatusOr<ParsedEnvironment> parsed =
///         ParseEnvironment({{"NODE_NAME", "gpu-7"}, {"ENABLE_AUTO_DRAIN", "false"}});
///     if (parsed.ok()) Use(parsed->settings);
///
/// The names, defaults and meanings match NVIDIA's k8s-driver-manager (upstream-behaviour.md §3.1). Plain value types.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_ENVIRONMENT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_ENVIRONMENT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/label_selector.h"

namespace driver_manager {

struct Settings {
  std::string node_name = {};
  /// Namespace of the operand pods that the program waits for.
  std::string operator_namespace = "gpu-operator";
  bool evict_gpu_pods = true;
  /// True to drain the entire node if evicting the GPU pods, or unloading the driver, fails.
  bool auto_drain = true;
  /// True to evict even pods that no controller will replace.
  bool drain_force = false;
  /// Selects the pods that the full drain evicts. Does not apply to the eviction of GPU pods.
  driverupgrade::LabelSelector drain_selector = {};
  /// Time limit for the eviction of GPU pods, and separately for the full drain.
  absl::Duration drain_timeout = absl::InfiniteDuration();
  bool delete_empty_dir = false;
  /// Key of an additional node label to pause; empty: none.
  std::string custom_label = {};
  bool gpu_direct_rdma = false;
  bool use_host_mofed = false;
  /// True to replace the loaded driver even if it could be kept.
  bool force_reinstall = false;
  /// Digest of the driver's configuration; empty if unknown. If it is empty, the loaded driver is always replaced.
  std::string config_digest = {};
  /// File with the address of the cluster. Empty: use the cluster that runs this pod.
  std::string kubeconfig = {};
};

struct Variable {
  const char* name = nullptr;
  /// The default as a user would write it; null: no default.
  const char* default_value = nullptr;
  const char* meaning = nullptr;
};

/// Returns all variables, in the same order as the README.
const std::vector<Variable>& Variables();

struct ParsedEnvironment {
  Settings settings = {};
  /// Warnings about malformed values that were accepted.
  std::vector<std::string> warnings = {};
};

/// Errors: InvalidArgument with the name of the variable.
absl::StatusOr<ParsedEnvironment> ParseEnvironment(const std::map<std::string, std::string>& environment);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_ENVIRONMENT_H_
