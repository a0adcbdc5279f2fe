/// A single node that the state machine tests modify and evaluate.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_NODE_UNDER_TEST_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_NODE_UNDER_TEST_H_

#include <string>
#include <utility>
#include <vector>

#include "decide/verdict.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/testing/builders.h"

namespace driverupgrade::tests {

inline DriverIdentity Gpu() { return *DriverIdentity::Create("nvidia.com", "gpu"); }
inline DriverIdentity Ofed() { return *DriverIdentity::Create("nvidia.com", "ofed"); }

/// Default time of an evaluation: 1000 s after the epoch, long after the engine became active.
inline const absl::Time kNow = absl::FromUnixSeconds(1000);

inline LabelSelector Selector(std::string_view text) { return *LabelSelector::Parse(text); }

/// Returns the facts of a driver with the DaemonSet `driver` (UID ds) and the target revision `wanted`.
inline DriverFacts Facts(std::string wanted) {
  DriverFacts facts;
  facts.daemon_sets["ds"] = {.daemon_set = {.ns = "drivers", .name = "driver", .uid = "ds"},
                             .wanted_revision = std::move(wanted)};
  return facts;
}

inline testing::PodBuilder DriverPod(std::string hash, std::string name = "driver-1") {
  std::string uid = name + "-uid";
  return testing::PodBuilder("drivers", std::move(name))
      .WithUid(std::move(uid))
      .OnNode("n1")
      .WithLabel("app", "driver")
      .OwnedByDaemonSet("driver", std::move(hash), "ds");
}

inline testing::PodBuilder WebPod(std::string name = "web") {
  std::string uid = name + "-uid";
  return testing::PodBuilder("team-a", std::move(name))
      .WithUid(std::move(uid))
      .OnNode("n1")
      .WithLabel("app", "web")
      .OwnedByReplicaSet("web", "rs");
}

/// A node n1 with one driver pod. By default the pod has revision `old`, and the target revision is `new`.
struct NodeUnderTest {
  NodeView view = {};
  DriverFacts facts = Facts("new");
  UpgradePolicy policy = {.auto_upgrade = true};
  StateMachineOptions options = {};
  bool pod_deletion = false;
  DriverIdentity identity = Gpu();
  absl::Time now = kNow;
  absl::Time active_since = absl::InfinitePast();

  explicit NodeUnderTest(std::string_view state = "", std::string driver_hash = "old") {
    view.node = {.name = "n1", .uid = "n1-uid", .resource_version = "10"};
    if (!state.empty()) view.node.labels[identity.StateLabel()] = std::string(state);
    if (!driver_hash.empty()) view.driver_pods = {DriverPod(std::move(driver_hash)).Build()};
  }
  NodeUnderTest& Cordoned() {
    view.node.unschedulable = true;
    return *this;
  }
  /// Cordons the node as our own upgrade does.
  NodeUnderTest& CordonedByUs() {
    view.node.annotations[std::string(kCordonedByAnnotation)] = identity.Name();
    return Cordoned();
  }
  NodeUnderTest& Annotated(const std::string& key, std::string value) {
    view.node.annotations[key] = std::move(value);
    return *this;
  }
  NodeUnderTest& Labelled(const std::string& key, std::string value) {
    view.node.labels[key] = std::move(value);
    return *this;
  }
  NodeUnderTest& WithDriverPods(std::vector<Pod> pods) {
    view.driver_pods = std::move(pods);
    return *this;
  }
  /// Sets the node's pods. From then on, the pods count as read.
  NodeUnderTest& WithPods(std::vector<Pod> pods) {
    view.pods = std::move(pods);
    return *this;
  }
  NodeUnderTest& StageBegan(std::string_view state, absl::Duration ago, std::string_view revision = "new") {
    return Annotated(
        identity.StageAnnotation(),
        std::string(state) + "@" + std::to_string(absl::ToUnixSeconds(now - ago)) + "@" + std::string(revision));
  }
  /// Turns requestor mode on, with an empty list of NodeMaintenances that counts as read.
  NodeUnderTest& Requesting() {
    options.requestor = RequestorOptions{.id = "nvidia.gpu-operator", .ns = "maintenance"};
    view.maintenances.emplace();
    return Annotated(identity.RequestorModeAnnotation(), "true");
  }
  /// Adds a NodeMaintenance whose condition Ready has the given reason. Empty: the object has no condition, because the
  /// maintenance operator has not processed it yet.
  NodeUnderTest& WithMaintenance(const std::string& reason, std::string requestor = "nvidia.gpu-operator",
                                 std::vector<std::string> additional = {}) {
    NodeMaintenance object{.ns = "maintenance",
                           .name = "nvidia-operator-n1",
                           .uid = "nm-uid",
                           .resource_version = "7",
                           .requestor_id = std::move(requestor),
                           .additional_requestors = std::move(additional),
                           .node_name = "n1"};
    if (!reason.empty())
      object.conditions = {{.type = "Ready", .status = reason == "Ready" ? "True" : "False", .reason = reason}};
    view.maintenances->push_back(std::move(object));
    return *this;
  }
  NodeUnderTest& Draining(absl::Duration timeout = absl::Seconds(300)) {
    policy.drain = DrainPolicy{.timeout = timeout};
    return *this;
  }

  StateMachine Machine() const { return StateMachine(identity, options, pod_deletion); }
  Verdict Judge(bool admitted = false) const {
    return Machine().Judge(view, facts, policy, now, active_since, admitted);
  }
  /// Returns the node with the verdict's patch applied.
  Node After(const Verdict& verdict) const {
    return verdict.plan.patch ? Patched(view.node, *verdict.plan.patch) : view.node;
  }
};

/// Returns the states that a plan enters, e.g. `upgrade-required,cordon-required`.
inline std::string Path(const NodePlan& plan) {
  std::string text;
  for (const UpgradeState state : plan.path) text += (text.empty() ? "" : ",") + std::string(ToString(state));
  return text;
}

/// Returns the reason of the verdict's gate, or an empty string if the verdict has no gate.
inline std::string GateOf(const Verdict& verdict) {
  return verdict.gate ? std::string(ToString(verdict.gate->reason)) : std::string();
}

/// Returns the pods that the plan evicts, e.g. `team-a/web,team-b/api`.
inline std::string Evicted(const Verdict& verdict) {
  std::string text;
  for (const PodRef& pod : verdict.plan.evict) text += (text.empty() ? "" : ",") + pod.ToString();
  return text;
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_NODE_UNDER_TEST_H_
