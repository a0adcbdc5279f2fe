#include "ofed_operator/nic_cluster_policy.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::NicClusterPolicy;
using ofed_operator::NicPolicyMemory;
using ofed_operator::ReadNicClusterPolicy;

ApiObject Policy(const std::string& driver, const std::string& name = "nic-cluster-policy",
                 const std::string& uid = "u") {
  return {.name = name, .uid = uid, .json = R"({"spec":{"ofedDriver":)" + driver + "}}"};
}

TEST_CASE("upstream 2.4: the fields and the defaults of the Network Operator") {
  const auto policy = ReadNicClusterPolicy(
      Policy(R"({"upgradePolicy":{"autoUpgrade":true,"safeLoad":true,"drain":{"podSelector":"a=b"}}})"));
  REQUIRE(policy.ok());
  CHECK(policy->has_driver);
  CHECK(policy->upgrade.auto_upgrade);
  CHECK(policy->upgrade.safe_load);
  CHECK(policy->upgrade.max_parallel == 1);
  CHECK_FALSE(policy->upgrade.max_unavailable);
  REQUIRE(policy->upgrade.drain);  // on unless `enable` says otherwise
  CHECK(policy->upgrade.drain->timeout == absl::Seconds(300));
  CHECK_FALSE(ReadNicClusterPolicy(Policy(R"({"upgradePolicy":{"drain":{"enable":false}}})"))->upgrade.drain);
}

TEST_CASE("what is absent is off") {
  CHECK(*ReadNicClusterPolicy(Policy("null")) == NicClusterPolicy{});
  CHECK(*ReadNicClusterPolicy({.json = "{}"}) == NicClusterPolicy{});
  CHECK_FALSE(ReadNicClusterPolicy(Policy("{}"))->upgrade.auto_upgrade);
}

TEST_CASE("only the policy of the right name counts, and what is not understood leaves the last that was") {
  NicPolicyMemory memory;
  const std::string good = R"({"upgradePolicy":{"autoUpgrade":true,"maxParallelUpgrades":5}})";
  CHECK_FALSE(memory.Read({Policy(good, "another")}).has_driver);
  CHECK(memory.verdicts().empty());
  CHECK(memory.Read({Policy(good)}).upgrade.max_parallel == 5);
  CHECK(memory.verdicts()[0].error.ok());
  CHECK(memory.Read({Policy(R"({"upgradePolicy":[]})")}).upgrade.max_parallel == 5);
  CHECK(memory.verdicts()[0].error ==
        absl::InvalidArgumentError("spec.ofedDriver.upgradePolicy: must be an object, got []"));
  CHECK_FALSE(memory.Read({Policy("7", "nic-cluster-policy", "another uid")}).upgrade.auto_upgrade);
  CHECK_FALSE(memory.Read({}).has_driver);
  CHECK(memory.verdicts().empty());
}

}  // namespace
}  // namespace driverupgrade::tests
