// The command line of ofed_operator.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_OPTIONS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_OPTIONS_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/upgrade_policy.h"
#include "support/requestor_arguments.h"
#include "support/service_arguments.h"

namespace ofed_operator {

using examples::kExitDone;
using examples::kExitUsage;

struct Options {
  examples::ServiceArguments service = {
      .lease_name = "nvidia-ofed-driver-upgrade", .ledger_name = "nvidia-ofed-driver-upgrade", .driver = "ofed"};
  std::string driver_labels = "nvidia.com/ofed-driver=,ds-owner=NicClusterPolicy";
  /// File with the policy; empty: use the NicClusterPolicy and the NicNodePolicies of the cluster.
  std::string policy = {};
  /// Creator of the driver's DaemonSets, for policies that name a version. If this operator creates them, they have an
  /// init container with `init_image`.
  examples::DriverDaemonSets daemon_sets = examples::DriverDaemonSets::kLeave;
  std::string init_image = {};
  /// True to report the progress in status.state of the policies; nullopt: true.
  std::optional<bool> write_state = std::nullopt;
  /// True to skip the migration from earlier versions (migration.h).
  bool disable_migration = false;
  /// True if nodes of a deleted policy are released.
  bool release_deleted = true;
  /// Maximum number of nodes in progress across all NicNodePolicies; nullopt: no such limit.
  std::optional<int> parallel_total = std::nullopt;
  examples::RequestorArguments requestor = {};
};

/// Returns the settings in the Network Operator's environment variables (upstream-behaviour.md §2.1, §2.3), which are
/// the defaults of the command line.
Options OptionsFromEnvironment();

/// Returns the options, or the exit code if the program must exit immediately after printing help or an error.
std::variant<Options, int> ParseOptions(int argc, char** argv);

/// The configuration that the options name, read and checked. Errors are configuration errors.
struct Configuration {
  driverupgrade::KubeConfig kube = {};
  driverupgrade::LabelSelector driver_labels = {};
  /// Policy from the file; nullopt: use the policies in the cluster.
  std::optional<driverupgrade::UpgradePolicy> policy = {};
  std::optional<driverupgrade::RequestorOptions> requestor = {};
};
absl::StatusOr<Configuration> Load(const Options& options);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_OPTIONS_H_
