/// What driver_manager is told by its environment, read in one place.
///
/// Defines Settings, Variable, Variables and ParseEnvironment.
///
///     absl::StatusOr<ParsedEnvironment> parsed =
///         ParseEnvironment({{"NODE_NAME", "gpu-7"}, {"ENABLE_AUTO_DRAIN", "false"}});
///     if (parsed.ok()) Use(parsed->settings);
///
/// Names, defaults and meanings are those of NVIDIA's k8s-driver-manager (upstream-behaviour.md §3.1). Values.
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
  /// Where the pods of the operands are awaited.
  std::string operator_namespace = "gpu-operator";
  bool evict_gpu_pods = true;
  /// A full drain where the eviction of GPU pods, or the unloading, fails.
  bool auto_drain = true;
  /// Also pods that no controller will replace.
  bool drain_force = false;
  /// Of the full drain alone.
  driverupgrade::LabelSelector drain_selector = {};
  /// Of the eviction of GPU pods and of the full drain, each.
  absl::Duration drain_timeout = absl::InfiniteDuration();
  bool delete_empty_dir = false;
  /// Key of one more node label to pause; empty: none.
  std::string custom_label = {};
  bool gpu_direct_rdma = false;
  bool use_host_mofed = false;
  /// Never keep the driver that is loaded.
  bool force_reinstall = false;
  /// Empty: not known, and so never equal.
  std::string config_digest = {};
  /// Empty: the cluster whose pod this is.
  std::string kubeconfig = {};
};

struct Variable {
  const char* name = nullptr;
  /// As it would be written; empty: none.
  const char* default_value = nullptr;
  const char* meaning = nullptr;
};

/// All that are read, in the order of the README.
const std::vector<Variable>& Variables();

struct ParsedEnvironment {
  Settings settings = {};
  /// For people: what was read although it is not well put.
  std::vector<std::string> warnings = {};
};

/// Errors: InvalidArgument that names the variable.
absl::StatusOr<ParsedEnvironment> ParseEnvironment(const std::map<std::string, std::string>& environment);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_ENVIRONMENT_H_
