// The command line of gpu_operator.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_OPTIONS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_OPTIONS_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/upgrade_policy.h"
#include "gpu/decide.h"
#include "support/requestor_arguments.h"
#include "support/service_arguments.h"

namespace gpu_operator {

using examples::kExitDone;
using examples::kExitNotDone;
using examples::kExitRefused;
using examples::kExitUsage;

struct Options {
  examples::ServiceArguments service = {
      .lease_name = "nvidia-gpu-driver-upgrade", .ledger_name = "nvidia-gpu-driver-upgrade", .driver = "gpu"};
  std::string driver_labels = "app=nvidia-driver-daemonset";
  std::string nvidia_driver_labels = "app.kubernetes.io/component=nvidia-driver";
  /// File with the policy; empty if `cluster_policy` is set.
  std::string policy = {};
  /// True if policies are custom resources.
  bool cluster_policy = false;
  /// True if nodes of a deleted policy are released.
  bool release_deleted = true;
  /// Empty: no validation pods. nullopt: the pods of NVIDIA's operator if policies are custom resources; otherwise no
  /// validation pods.
  std::optional<std::string> validation_selector = std::nullopt;
  /// Treatment of validation pods that became ready before the new driver pod.
  driverupgrade::EarlyValidation early_validation = driverupgrade::EarlyValidation::kRestart;
  /// True to write owner labels, and the annotation for driver managers, to nodes; nullopt: only if the policy is a
  /// custom resource.
  std::optional<bool> mark_nodes = std::nullopt;
  /// True to report the progress in status.state of the policies; nullopt: only if the nodes are marked.
  std::optional<bool> write_state = std::nullopt;
  /// Creator of the driver's DaemonSets, for policies that name a version.
  examples::DriverDaemonSets daemon_sets = examples::DriverDaemonSets::kLeave;
  /// True if the cluster is OpenShift: the driver's DaemonSets are those with the Driver Toolkit, unless the
  /// ClusterPolicy switches the toolkit off.
  bool openshift = false;
  /// Maximum number of nodes in progress across all NVIDIADrivers; nullopt: no such limit.
  std::optional<int> parallel_total = std::nullopt;
  examples::RequestorArguments requestor = {};
};

/// Returns the options, or the exit code if the program must exit immediately after printing help or an error.
std::variant<Options, int> ParseOptions(int argc, char** argv);

/// The configuration that the options name, read and checked. Errors are configuration errors.
struct Configuration {
  driverupgrade::KubeConfig kube = {};
  DriverLabels labels = {};
  /// Policy from the file.
  driverupgrade::UpgradePolicy policy = {};
  std::optional<driverupgrade::RequestorOptions> requestor = {};
};
absl::StatusOr<Configuration> Load(const Options& options);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_OPTIONS_H_
