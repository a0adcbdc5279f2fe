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
  /// A file; empty: the NicClusterPolicy and the NicNodePolicies of the cluster.
  std::string policy = {};
  /// Creator of the DaemonSets of policies that name a version. DaemonSets of this operator have an init container with
  /// `init_image`.
  examples::DriverDaemonSets daemon_sets = examples::DriverDaemonSets::kLeave;
  std::string init_image = {};
  /// status.state of the policies says how far their nodes are; nullopt: it does.
  std::optional<bool> write_state = std::nullopt;
  /// Whether earlier versions' traces are left alone.
  bool disable_migration = false;
  /// Nodes of a policy that was deleted are given back.
  bool release_deleted = true;
  /// Over all NicNodePolicies.
  std::optional<int> parallel_total = std::nullopt;
  examples::RequestorArguments requestor = {};
};

/// What the Network Operator's environment variables say (upstream-behaviour.md §2.1, §2.3): the defaults of the
/// command line.
Options OptionsFromEnvironment();

/// The options, or the exit code if the program is to end at once: help and errors have been printed.
std::variant<Options, int> ParseOptions(int argc, char** argv);

/// What the options name, read and checked. Errors are configuration errors.
struct Configuration {
  driverupgrade::KubeConfig kube = {};
  driverupgrade::LabelSelector driver_labels = {};
  /// Of the file; nullopt: it is in the cluster.
  std::optional<driverupgrade::UpgradePolicy> policy = {};
  std::optional<driverupgrade::RequestorOptions> requestor = {};
};
absl::StatusOr<Configuration> Load(const Options& options);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_OPTIONS_H_
