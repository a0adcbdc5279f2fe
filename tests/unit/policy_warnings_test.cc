#include <string>
#include <vector>

#include "driverupgrade/policy_codec.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using Texts = std::vector<std::string>;

Texts WarningsOf(const std::string& document) {
  const absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(document);
  INFO(policy.status().ToString());
  REQUIRE(policy.ok());
  return Warnings(*policy);
}

TEST_CASE("W21: a warning reports fields of a rollout that have no effect") {
  CHECK(WarningsOf("{rollout: {stages: [{name: all, nodes: 100%}, {name: never, nodes: 2}]}}") ==
        Texts{"rollout.stages[1]: never has a node, because the earlier stage all takes all nodes"});
  CHECK(WarningsOf("{rollout: {stages: [{name: a, nodes: 2, maxFailures: 2}, {name: b, nodeSelector: x, maxFailures: "
                   "100%}]}}") == Texts{"rollout.stages[0].maxFailures: 2 is never exceeded: the stage has 2 nodes",
                                        "rollout.stages[1].maxFailures: 100% is never exceeded"});
  CHECK(WarningsOf("{maxParallelUpgrades: 4, rollout: {stages: [{name: a, nodes: 2, maxParallel: 3}, "
                   "{name: b, nodes: 50%, maxParallel: 5}]}}") ==
        Texts{"rollout.stages[0].maxParallel: 3 has no effect: the stage has 2 nodes",
              "rollout.stages[1].maxParallel: 5 has no effect: maxParallelUpgrades is 4"});
  CHECK(WarningsOf("{rollout: {expectedNodeSeconds: 600}}") ==
        Texts{"rollout.expectedNodeSeconds: has no effect without finishBy"});
  CHECK(WarningsOf("{rollout: {closedTimeZone: UTC, order: [Idle, Name, {label: a}], health: {}}}") ==
        Texts{"rollout.order[2]: has no effect after Name", "rollout.closedTimeZone: has no effect without closed",
              "rollout.health: has no effect without fields"});
}

TEST_CASE("W21: a warning reports a field of the evacuation that has no effect") {
  CHECK(WarningsOf("{waitForCompletion: {timeoutSeconds: 3600}}") ==
        Texts{"waitForCompletion.timeoutSeconds: has no effect without podSelector"});
  CHECK(
      WarningsOf("{podDeletion: {timeoutSeconds: 0, onTimeout: ForceDelete}, drain: {enable: true, timeoutSeconds: 0, "
                 "onTimeout: Delete}}") ==
      Texts{"podDeletion.onTimeout: has no effect: with timeoutSeconds 0 there is no timeout",
            "drain.onTimeout: has no effect: with timeoutSeconds 0 there is no timeout"});
  CHECK(WarningsOf("{podDeletion: {onFailure: GiveBack}, drain: {enable: true}}") ==
        Texts{"podDeletion.onFailure: has no effect, because a drain follows if pod deletion fails"});
  CHECK(WarningsOf("{maxUnavailable: 100%, onUnscheduledPods: Ignore}") ==
        Texts{"onUnscheduledPods: has no effect without maxUnavailable"});
}

TEST_CASE("W21: a warning reports a failure limit or a retry setting that has no effect") {
  CHECK(WarningsOf("{failurePolicy: {maxFailures: 100%}}") ==
        Texts{"failurePolicy.maxFailures: 100% stops the rollout only when all nodes have failed"});
  CHECK(WarningsOf("{maxUnavailable: 3, failurePolicy: {maxFailures: 5}}") ==
        Texts{"failurePolicy.maxFailures: 5 is never reached: failed nodes are unavailable, and maxUnavailable is 3"});
  // Nodes that are released after a failure are available again.
  CHECK(WarningsOf("{maxUnavailable: 3, drain: {enable: true, onFailure: GiveBack}, failurePolicy: {maxFailures: 5}}")
            .empty());
  CHECK(WarningsOf("{maxUnavailable: 10%, failurePolicy: {maxFailures: 5}}").empty());
  CHECK(WarningsOf("{failurePolicy: {byClass: {DriverCrash: 3, NodeLost: 10%}}}") ==
        Texts{"failurePolicy.byClass.DriverCrash: 3 has no effect: maxFailures is 1"});
  CHECK(WarningsOf("{deadlines: {podRestartSeconds: 0}, failurePolicy: {maxFailures: 5, byClass: {ImagePull: 2}}}") ==
        Texts{"failurePolicy.byClass.ImagePull: has no effect: without deadlines.podRestartSeconds no node fails "
              "because of its image"});
  CHECK(WarningsOf("{retry: {maxAttempts: 3, backoffSeconds: 0}}") ==
        Texts{"retry.maxAttempts: has no effect: with backoffSeconds 0 there is no retry"});
  CHECK(WarningsOf("{retry: {backoffSeconds: 600}}") ==
        Texts{"retry.backoffSeconds: has no effect without maxAttempts"});
}

TEST_CASE("W21: a warning reports a part of a rollout that never affects a decision") {
  CHECK(WarningsOf("{rollout: {}}") == Texts{"rollout: has no effect without fields"});
  CHECK(WarningsOf("{rollout: {rollback: Fast}}") == Texts{"rollout.rollback: has no effect without stages"});
  const std::string healthy = "{type: Healthy, status: 'True'}, {type: Healthy, status: ";
  const auto with_status = [&](const std::string& status) {
    return WarningsOf("{rollout: {health: {nodeConditions: [" + healthy + status + "}]}}}");
  };
  CHECK(with_status("'False'") == Texts{"rollout.health.nodeConditions[1]: every node that reports Healthy is sick, "
                                        "whether its status is True or False"});
  CHECK(with_status("'True'") ==
        Texts{"rollout.health.nodeConditions[1]: has no effect: nodeConditions[0] is the same"});
  CHECK(with_status("Unknown").empty());
  CHECK(WarningsOf("{rollout: {health: {podSelector: app=dcgm}}}") ==
        Texts{"rollout.health.podSelector: has no effect without stages"});
  CHECK(WarningsOf("{rollout: {stages: [{name: a, nodes: 3, maxFailures: 10%}]}}") ==
        Texts{"rollout.stages[0].maxFailures: 10% of 3 nodes is 0, so one failure halts the rollout"});
  CHECK(WarningsOf("{rollout: {stages: [{name: a, nodes: 100%, approval: Manual}]}}") ==
        Texts{"rollout.stages[0].approval: has no effect: stage a takes all nodes, so no node waits for it"});
  CHECK(WarningsOf("{rollout: {stages: [{name: a, nodes: 100%, soakSeconds: 60}]}}") ==
        Texts{"rollout.stages[0].soakSeconds: has no effect: stage a takes all nodes, so no node waits for it"});
  CHECK(WarningsOf("{rollout: {order: [FewestPods, Idle, {label: a}, {label: b}, {label: a}]}}") ==
        Texts{"rollout.order[1]: has no effect after FewestPods",
              "rollout.order[4]: has no effect: order[2] is the same"});
  CHECK(WarningsOf("{maxParallelUpgrades: 2, rollout: {groups: {by: rack, mode: Spread, maxPerGroup: 2}}}") ==
        Texts{"rollout.groups.maxPerGroup: 2 has no effect: maxParallelUpgrades is 2"});
  CHECK(WarningsOf("{maxParallelUpgrades: 0, rollout: {groups: {by: rack, mode: Spread, maxPerGroup: 100%}}}") ==
        Texts{"rollout.groups.maxPerGroup: 100% has no effect: it covers the whole group"});
  CHECK(
      WarningsOf("{rollout: {windows: [{days: [Mon, Tue, Wed], durationSeconds: 86400}, {days: [Thu], durationSeconds: "
                 "345600}]}}") == Texts{"rollout.windows: has no effect: a window is always open"});
}

TEST_CASE("W21: a valid policy is accepted without warnings") {
  CHECK(WarningsOf("{autoUpgrade: true}").empty());
  CHECK(WarningsOf("{waitForCompletion: {timeoutSeconds: 0, podSelector: ''}, podDeletion: {onFailure: GiveBack}, "
                   "retry: {maxAttempts: 2, backoffSeconds: 300}, maxUnavailable: 5, failurePolicy: {maxFailures: 5, "
                   "byClass: {DriverCrash: 1, ImagePull: 2%}}}")
            .empty());
  CHECK(
      WarningsOf("{maxParallelUpgrades: 4, rollout: {groups: {by: rack, mode: Spread, maxPerGroup: 2}, "
                 "order: [Idle, FewestPods, {label: a}, {topology: a}], windows: [{days: [Sat, Sun], durationSeconds: "
                 "86400}]}}")
          .empty());
  CHECK(
      WarningsOf("{maxParallelUpgrades: 0, rollout: {stages: [{name: a, nodes: 2, maxParallel: 2, maxFailures: 1}, "
                 "{name: b, nodes: 100%, maxFailures: 10%}], order: [Idle, Name], windows: [{durationSeconds: 3600}], "
                 "finishBy: true, expectedNodeSeconds: 600}}")
          .empty());
}

}  // namespace
}  // namespace driverupgrade
