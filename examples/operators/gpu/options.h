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
  /// A file; empty: `cluster_policy` is set.
  std::string policy = {};
  /// Policies are custom resources.
  bool cluster_policy = false;
  /// Nodes of a policy that was deleted are given back.
  bool release_deleted = true;
  /// Empty: none. nullopt: as NVIDIA's operator has it where the policy is its custom resource, else none.
  std::optional<std::string> validation_selector = std::nullopt;
  /// Treatment of validation pods that became ready before the new driver pod did.
  driverupgrade::EarlyValidation early_validation = driverupgrade::EarlyValidation::kRestart;
  /// The nodes get owner labels, and the annotation for driver managers; nullopt: where the policy is a custom resource.
  std::optional<bool> mark_nodes = std::nullopt;
  /// status.state of the policies says how far their nodes are; nullopt: where the nodes are marked.
  std::optional<bool> write_state = std::nullopt;
  /// Creator of the DaemonSets of policies that name a version.
  examples::DriverDaemonSets daemon_sets = examples::DriverDaemonSets::kLeave;
  /// The cluster is OpenShift: the Driver Toolkit's DaemonSets are the driver's, unless the ClusterPolicy switches it off.
  bool openshift = false;
  /// Over all owners.
  std::optional<int> parallel_total = std::nullopt;
  examples::RequestorArguments requestor = {};
};

/// The options, or the exit code if the program is to end at once: help and errors have been printed.
std::variant<Options, int> ParseOptions(int argc, char** argv);

/// What the options name, read and checked. Errors are configuration errors.
struct Configuration {
  driverupgrade::KubeConfig kube = {};
  DriverLabels labels = {};
  /// Of the file.
  driverupgrade::UpgradePolicy policy = {};
  std::optional<driverupgrade::RequestorOptions> requestor = {};
};
absl::StatusOr<Configuration> Load(const Options& options);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_OPTIONS_H_
