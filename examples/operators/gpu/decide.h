// Decides what to run, from the existing custom resources (upstream-behaviour.md §1.3, §1.4).
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
  /// Labels of a ClusterPolicy's DaemonSets.
  driverupgrade::LabelSelector cluster_policy = {};
  /// Labels of a ClusterPolicy's DaemonSets on OpenShift, where the Driver Toolkit builds the driver; empty if the
  /// cluster is not OpenShift.
  driverupgrade::LabelSelector toolkit = {};
  /// Labels of the NVIDIADrivers' DaemonSets and of pods that a former ClusterPolicy has orphaned.
  driverupgrade::LabelSelector nvidia_driver = {};
};

struct Decision {
  /// If empty, the operator does nothing, and nodes stay in their state.
  std::vector<driverupgrade::EngineSpec> engines = {};
  /// Engines that release nodes whose owner no longer exists. If NVIDIADrivers apply and all of them are valid,
  /// the nodes without an NVIDIADriver are released, once each node has its owner label. If the active ClusterPolicy
  /// has no driver, all nodes are released.
  std::vector<driverupgrade::EngineSpec> gone = {};
  /// Name of the active ClusterPolicy; empty if there is no ClusterPolicy.
  std::string active = {};
  /// ClusterPolicies and NVIDIADrivers that are not in effect, by name, with the reason.
  std::map<std::string, std::string> idle_policies = {};
  std::map<std::string, std::string> idle_drivers = {};
  NodeWishes nodes = {};
  /// DaemonSets to create, without a namespace.
  std::vector<examples::DriverDaemonSet> daemon_sets = {};
  /// For administrators: the resource that applies, or the reason why no resource applies.
  std::string reason = {};
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// Returns the active policy, which is the oldest one; if several are equally old, the first of them by name. Returns
/// nullptr if there are no policies.
const ClusterPolicy* ActivePolicy(const std::vector<ClusterPolicy>& policies);

/// Decides which engines run. Only the active ClusterPolicy is in effect:
/// - Without a ClusterPolicy, or if the active one uses NVIDIADrivers: an engine for each NVIDIADriver, for the nodes
///   that it owns. All other nodes are released; without an NVIDIADriver, all nodes are released.
/// - sandboxWorkloads.enabled: no engine, and no node is released.
/// - driver.enabled: false: no engine; all nodes are released.
/// - In all other cases: one engine for all nodes, with the active policy. If autoUpgrade is off, the engine still
///   runs, but changes nothing: nodes are frozen, and the engine's metrics stay correct (dep-F9).
Decision Decide(const std::vector<ClusterPolicy>& policies, const std::vector<NvidiaDriver>& drivers,
                const DriverLabels& labels);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DECIDE_H_
