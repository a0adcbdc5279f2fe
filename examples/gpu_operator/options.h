// The command line of gpu_operator.
#ifndef DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_OPTIONS_H_
#define DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_OPTIONS_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/leader_election.h"
#include "driverupgrade/maintenance_requestor.h"
#include "driverupgrade/upgrade_policy.h"
#include "support/requestor_arguments.h"

namespace gpu_operator {

/// Exit codes of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNotDone = 1;  // some node failed, or the time ran out
inline constexpr int kExitUsage = 2;    // usage or configuration
inline constexpr int kExitRefused = 3;  // the cluster refused, or cannot be reached

struct Options {
  std::string kubeconfig = {};
  bool in_cluster = false;
  /// One of examples::TransportNames.
  std::string transport = {};
  std::string ns = {};
  std::string driver_labels = {};
  std::string policy = {};
  std::string validation_selector = {};
  bool once = false;
  bool until_done = false;
  bool leader_elect = false;
  /// Of the Lease; empty: `ns`.
  std::string lease_namespace = {};
  std::string lease_name = "nvidia-gpu-driver-upgrade";
  absl::Duration lease_duration = driverupgrade::LeaderElectionOptions().lease_duration;
  absl::Duration renew_deadline = driverupgrade::LeaderElectionOptions().renew_deadline;
  absl::Duration retry_period = driverupgrade::LeaderElectionOptions().retry_period;
  bool ledger = false;
  /// Of the ConfigMap; empty: `ns`.
  std::string ledger_namespace = {};
  std::string ledger_name = "nvidia-gpu-driver-upgrade";
  /// Who this replica is among the candidates.
  std::string identity = {};
  /// `host:port` of /healthz and /readyz; empty: none.
  std::string health_address = {};
  /// `host:port` of /metrics; empty: none.
  std::string metrics_address = {};
  absl::Duration timeout = absl::InfiniteDuration();
  bool transition_events = true;
  /// Those about what keeps nodes from moving.
  bool finding_events = true;
  examples::RequestorArguments requestor = {};
};

/// The options, or the exit code if the program is to end at once: help and errors have been printed.
std::variant<Options, int> ParseOptions(int argc, char** argv);

/// What the options name, read and checked. Errors are configuration errors.
struct Configuration {
  driverupgrade::KubeConfig kube = {};
  driverupgrade::LabelSelector driver_labels = {};
  driverupgrade::UpgradePolicy policy = {};
  std::optional<driverupgrade::RequestorOptions> requestor = {};
};
absl::StatusOr<Configuration> Load(const Options& options);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_OPTIONS_H_
