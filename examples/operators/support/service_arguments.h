/// The options that operators have in common: which cluster, how long to run, as one replica of how many, seen where.
///
/// Defines ServiceArguments, AddServiceArguments, AddDriverDaemonSets, AddOnDelete, ParseServiceArguments, SetOwnPod and
/// the exit codes.
///
///     examples::ServiceArguments service{.lease_name = "nvidia-gpu-driver-upgrade"};
///     examples::AddServiceArguments(app, service);
///     if (const auto end = examples::ParseServiceArguments(app, argc, argv, service)) return *end;
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_SERVICE_ARGUMENTS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_SERVICE_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_controller.h"
#include "support/cluster_arguments.h"
#include "support/driver_maker.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace examples {

/// Exit codes of the programs.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNotDone = 1;  // some node failed or is left, or the time ran out
inline constexpr int kExitUsage = 2;    // usage or configuration
inline constexpr int kExitRefused = 3;  // the cluster refused, or cannot be reached

struct ServiceArguments {
  ClusterArguments cluster = {};
  /// Of the driver's DaemonSets.
  std::string ns = {};
  bool once = false;
  bool until_done = false;
  absl::Duration timeout = absl::InfiniteDuration();
  bool transition_events = true;
  /// Those about what keeps nodes from moving.
  bool finding_events = true;
  /// Each line of the log is a JSON object.
  bool json_log = false;
  bool leader_elect = false;
  /// Of the Lease; empty: `ns`.
  std::string lease_namespace = {};
  std::string lease_name = {};
  absl::Duration lease_duration = driverupgrade::LeaderElectionOptions().lease_duration;
  absl::Duration renew_deadline = driverupgrade::LeaderElectionOptions().renew_deadline;
  absl::Duration retry_period = driverupgrade::LeaderElectionOptions().retry_period;
  /// DRA drivers whose devices the policy may isolate instead of nodes; empty: nothing of DRA is read.
  std::vector<std::string> device_drivers = {};
  bool ledger = false;
  /// Of the ConfigMap; empty: `ns`.
  std::string ledger_namespace = {};
  std::string ledger_name = {};
  /// Domain and name of the driver in the keys of labels and annotations. Operators set the default of `driver`.
  std::string domain = "nvidia.com";
  std::string driver = {};
  /// Who this replica is among the candidates.
  std::string identity = {};
  /// The pod that this process runs in; an empty name: it is in none, or does not know. It is not evicted, and its node
  /// is upgraded last (dep-F19). An empty namespace: `ns`.
  std::string pod_name = {};
  std::string pod_namespace = {};
  std::string pod_uid = {};
  std::string node_name = {};
  /// `host:port` of /healthz and /readyz; empty: none.
  std::string health_address = {};
  /// `host:port` of /metrics; empty: none.
  std::string metrics_address = {};
  /// `host:port` of the page of the rollout; empty: none.
  std::string rollout_address = {};
  /// The same, with TLS, for readers elsewhere; empty: none.
  std::string rollout_secure_address = {};
};

/// Into `arguments`, which must outlive the parsing. What it holds already are the defaults; --namespace is required if
/// it has none. Where the pod's options are not given, the environment is asked, as a manifest fills it: POD_NAME,
/// POD_NAMESPACE, POD_UID, NODE_NAME.
void AddServiceArguments(CLI::App& app, ServiceArguments& arguments);
/// Adds `--domain` and `--driver`. Their values are checked when the identity is made.
void AddDriverIdentity(CLI::App& app, ServiceArguments& arguments);
/// Returns the identity that the two options name. Errors: InvalidArgument.
absl::StatusOr<driverupgrade::DriverIdentity> IdentityOf(const ServiceArguments& arguments);

/// `--driver-daemonsets`: Make, or Leave, the default.
CLI::Option* AddDriverDaemonSets(CLI::App& app, DriverDaemonSets& mode);

/// `--resource-state`, for operators whose policies are custom resources: Write or Leave; nullopt if it is not given.
CLI::Option* AddResourceState(CLI::App& app, std::optional<bool>& write_state);

/// `--on-delete`, for operators whose policies are custom resources: Release, the default, or Freeze.
CLI::Option* AddOnDelete(CLI::App& app, bool& release_deleted);
/// Parses the command line, and fills in what depends on other options. The exit code if the program is to end now: it
/// was asked for its help or version, or the usage is wrong, and has said so.
std::optional<int> ParseServiceArguments(CLI::App& app, int argc, char** argv, ServiceArguments& arguments);

/// The pod and its node, for the engine; neither if the pod's name is not known.
void SetOwnPod(const ServiceArguments& arguments, driverupgrade::StateMachineOptions& options);

/// nullopt if it is not set, or empty.
std::optional<std::string> Environment(const char* name);

/// The whole file. Errors name it.
absl::StatusOr<std::string> ReadFile(const std::string& path);

/// The error, said to be about `what`: an option, a file.
absl::Status About(const std::string& what, const absl::Status& status);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_SERVICE_ARGUMENTS_H_
