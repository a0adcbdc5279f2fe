/// Parses the common options of operators: the cluster, the duration of the run, the replicas, and the addresses of
/// pages.
///
/// Defines ServiceArguments, AddServiceArguments, AddDriverDaemonSets, AddOnDelete, ParseServiceArguments, SetOwnPod
/// and the exit codes.
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
inline constexpr int kExitNotDone = 1;  // a node failed or is not done, or the timeout expired
inline constexpr int kExitUsage = 2;    // usage or configuration error
inline constexpr int kExitRefused = 3;  // the cluster refused a request, or could not be reached

struct ServiceArguments {
  ClusterArguments cluster = {};
  /// Namespace of the driver's DaemonSets.
  std::string ns = {};
  bool once = false;
  bool until_done = false;
  absl::Duration timeout = absl::InfiniteDuration();
  bool transition_events = true;
  /// True to write Events about the reasons why nodes wait.
  bool finding_events = true;
  /// True to write each log line as a JSON object.
  bool json_log = false;
  bool leader_elect = false;
  /// Namespace of the Lease; empty: `ns`.
  std::string lease_namespace = {};
  std::string lease_name = {};
  absl::Duration lease_duration = driverupgrade::LeaderElectionOptions().lease_duration;
  absl::Duration renew_deadline = driverupgrade::LeaderElectionOptions().renew_deadline;
  absl::Duration retry_period = driverupgrade::LeaderElectionOptions().retry_period;
  /// DRA drivers whose devices the policy may isolate instead of nodes; if empty, no DRA objects are read.
  std::vector<std::string> device_drivers = {};
  bool ledger = false;
  /// Namespace of the ConfigMap; empty: `ns`.
  std::string ledger_namespace = {};
  std::string ledger_name = {};
  /// The driver's domain and name in label and annotation keys. Operators set the default of `driver`.
  std::string domain = "nvidia.com";
  std::string driver = {};
  /// Name of this replica among the candidates.
  std::string identity = {};
  /// The pod of this process, which is not evicted, and whose node is upgraded last (dep-F19). The name is empty if the
  /// process does not run in a pod, or if its pod is unknown. An empty namespace means `ns`.
  std::string pod_name = {};
  std::string pod_namespace = {};
  std::string pod_uid = {};
  std::string node_name = {};
  /// `host:port` of /healthz and /readyz; empty: not served.
  std::string health_address = {};
  /// `host:port` of /metrics; empty: not served.
  std::string metrics_address = {};
  /// `host:port` of the rollout page; empty: not served.
  std::string rollout_address = {};
  /// `host:port` of the rollout page with TLS, for remote readers; empty: not served.
  std::string rollout_secure_address = {};
};

/// Adds the options that set `arguments`, which must outlive the parsing. The current values of `arguments` are the
/// defaults; --namespace is required if it has no default. The options for the pod default to environment variables
/// that a manifest sets: POD_NAME, POD_NAMESPACE, POD_UID, NODE_NAME.
void AddServiceArguments(CLI::App& app, ServiceArguments& arguments);
/// Adds `--domain` and `--driver`. Their values are checked when the identity is created.
void AddDriverIdentity(CLI::App& app, ServiceArguments& arguments);
/// Returns the identity that `--domain` and `--driver` name. Errors: InvalidArgument.
absl::StatusOr<driverupgrade::DriverIdentity> IdentityOf(const ServiceArguments& arguments);

/// Adds `--driver-daemonsets`: Make, or Leave (the default).
CLI::Option* AddDriverDaemonSets(CLI::App& app, DriverDaemonSets& mode);

/// Adds `--resource-state`, for operators whose policies are custom resources: Write or Leave. If the option is not
/// set, `write_state` stays nullopt.
CLI::Option* AddResourceState(CLI::App& app, std::optional<bool>& write_state);

/// Adds `--on-delete`, for operators whose policies are custom resources: Release (the default) or Freeze.
CLI::Option* AddOnDelete(CLI::App& app, bool& release_deleted);
/// Parses the command line, and sets options that depend on other options. Returns the exit code if the program must
/// exit after having printed its help, its version, or an error.
std::optional<int> ParseServiceArguments(CLI::App& app, int argc, char** argv, ServiceArguments& arguments);

/// Sets `own_pod` and `own_node` of the engine's options; sets neither if the pod's name is unknown.
void SetOwnPod(const ServiceArguments& arguments, driverupgrade::StateMachineOptions& options);

/// Returns the value of an environment variable; nullopt if the variable is not set or is empty.
std::optional<std::string> Environment(const char* name);

/// Returns the content of a file. Errors contain the file name.
absl::StatusOr<std::string> ReadFile(const std::string& path);

/// Returns `status` with its message prefixed by `what`, for example the name of an option or file.
absl::Status About(const std::string& what, const absl::Status& status);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_SERVICE_ARGUMENTS_H_
