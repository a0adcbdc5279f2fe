#include "driverupgrade/policy_warnings.h"

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

TEST_CASE("W21: a policy whose fields have no effect is warned about") {
  CHECK(WarningsOf("{rollout: {stages: [{name: all, nodes: 100%}, {name: never, nodes: 2}]}}") ==
        Texts{"rollout.stages[1]: never has a node: stage all before it takes all"});
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

TEST_CASE("W21: a policy that works is not warned about") {
  CHECK(WarningsOf("{autoUpgrade: true}").empty());
  CHECK(
      WarningsOf("{maxParallelUpgrades: 0, rollout: {stages: [{name: a, nodes: 2, maxParallel: 2, maxFailures: 1}, "
                 "{name: b, nodes: 100%, maxFailures: 10%}], order: [Idle, Name], windows: [{durationSeconds: 3600}], "
                 "finishBy: true, expectedNodeSeconds: 600}}")
          .empty());
}

}  // namespace
}  // namespace driverupgrade
