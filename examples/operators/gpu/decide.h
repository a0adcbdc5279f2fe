// What is to run, by the custom resources there are (upstream-behaviour.md §1.3, §1.4).
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DECIDE_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DECIDE_H_

#include <map>
#include <string>
#include <vector>

#include "driverupgrade/label_selector.h"
#include "driverupgrade/service/director.h"
#include "gpu/cluster_policy.h"
#include "gpu/node_marks.h"

namespace gpu_operator {

struct DriverLabels {
  /// Of the DaemonSets of a ClusterPolicy.
  driverupgrade::LabelSelector cluster_policy = {};
  /// The same on OpenShift, where the Driver Toolkit builds the driver; empty: it is not OpenShift.
  driverupgrade::LabelSelector toolkit = {};
  /// Of those of NVIDIADrivers, orphans of a former ClusterPolicy included.
  driverupgrade::LabelSelector nvidia_driver = {};
};

struct Decision {
  /// None: the operator does nothing, and leaves nodes where they stand.
  std::vector<driverupgrade::EngineSpec> engines = {};
  /// The nodes of no NVIDIADriver, where these decide and all are understood: what an owner that is no more has left on
  /// them. Only once each node has the label of its owner. All nodes, if the active ClusterPolicy has no driver.
  std::vector<driverupgrade::EngineSpec> gone = {};
  /// The ClusterPolicy that counts; empty: there is none.
  std::string active = {};
  /// ClusterPolicies and NVIDIADrivers that are not in effect, by name, and why.
  std::map<std::string, std::string> idle_policies = {};
  std::map<std::string, std::string> idle_drivers = {};
  NodeWishes nodes = {};
  /// In no namespace yet.
  std::vector<examples::DriverDaemonSet> daemon_sets = {};
  /// For a person: who decides, or why nobody does.
  std::string reason = {};
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// The active one: the oldest, of those the first by name. nullptr: there is none.
const ClusterPolicy* ActivePolicy(const std::vector<ClusterPolicy>& policies);

/// The others than the active ClusterPolicy are not in effect.
/// - No ClusterPolicy, or the active one uses NVIDIADrivers: an engine for each NVIDIADriver, for the nodes it owns;
///   the others are given back, which are all if there is no NVIDIADriver.
/// - sandboxWorkloads.enabled: nothing.
/// - driver.enabled: false: no engine; all nodes are released.
/// - Otherwise one engine for all nodes, by the active policy.
/// With autoUpgrade off an engine runs and changes nothing: nodes are frozen, and its figures stay true (dep-F9).
Decision Decide(const std::vector<ClusterPolicy>& policies, const std::vector<NvidiaDriver>& drivers,
                const DriverLabels& labels);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DECIDE_H_
