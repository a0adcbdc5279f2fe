#include "ofed/nic_cluster_policy.h"

#include "absl/strings/match.h"
#include "support/catch.h"
#include "support/policy_memory.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::NicClusterPolicy;
using ofed_operator::ReadNicClusterPolicy;
using ofed_operator::ReadNicNodePolicy;

ApiObject Policy(const std::string& driver, const std::string& name = "nic-cluster-policy",
                 const std::string& uid = "u") {
  return {.name = name, .uid = uid, .json = R"({"spec":{"ofedDriver":)" + driver + "}}"};
}

TEST_CASE("upstream 2.4: the fields are read with the defaults of the Network Operator") {
  const auto policy = ReadNicClusterPolicy(
      Policy(R"({"upgradePolicy":{"autoUpgrade":true,"safeLoad":true,"drain":{"podSelector":"a=b"}}})"));
  REQUIRE(policy.ok());
  CHECK(policy->has_driver);
  CHECK(policy->upgrade.auto_upgrade);
  CHECK(policy->upgrade.safe_load);
  CHECK(policy->upgrade.max_parallel == 1);
  CHECK_FALSE(policy->upgrade.max_unavailable);
  REQUIRE(policy->upgrade.drain);  // enabled unless `enable` is false
  CHECK(policy->upgrade.drain->timeout == absl::Seconds(300));
  CHECK_FALSE(ReadNicClusterPolicy(Policy(R"({"upgradePolicy":{"drain":{"enable":false}}})"))->upgrade.drain);
}

TEST_CASE("missing fields disable the feature") {
  CHECK(*ReadNicClusterPolicy(Policy("null")) == NicClusterPolicy{.name = "nic-cluster-policy"});
  CHECK(*ReadNicClusterPolicy({.json = "{}"}) == NicClusterPolicy{});
  CHECK_FALSE(ReadNicClusterPolicy(Policy("{}"))->upgrade.auto_upgrade);
}

TEST_CASE("the settings for driver pods in the policy are read, and unsupported settings are refused") {
  const auto policy = ReadNicClusterPolicy(
      Policy(R"({"image":"doca","version":"1","terminationGracePeriodSeconds":60,"startupProbe":{"periodSeconds":3},)"
             R"("containerResources":[{"name":"mofed-container","requests":{"cpu":"1"}},{"name":"other"}]})"));
  REQUIRE(policy.ok());
  CHECK(policy->grace_period_seconds == 60);
  CHECK(policy->pods.resources == R"({"requests":{"cpu":"1"}})");
  CHECK(policy->pods.probe_times.at("startupProbe").at("periodSeconds") == 3);
  CHECK(absl::StartsWith(ReadNicClusterPolicy(Policy(R"({"repoConfig":{"name":"mirror"}})"))->pods.refusal.message(),
                         "spec.ofedDriver.repoConfig is set"));
}

TEST_CASE("W30: an invalid driver image or pod setting never freezes the upgrade policy") {
  const auto policy = ReadNicClusterPolicy(
      Policy(R"({"version":7,"startupProbe":{"periodSeconds":"3"},"upgradePolicy":{"autoUpgrade":true}})"));
  REQUIRE(policy.ok());
  CHECK(policy->upgrade.auto_upgrade);
  CHECK(absl::StartsWith(policy->pods.refusal.message(), "spec.ofedDriver.startupProbe.periodSeconds: must be"));
  REQUIRE(policy->driver);
  CHECK(policy->driver->reference.empty());
}

TEST_CASE("upstream 2.1: a NicNodePolicy has the same upgrade policy, and additionally a node selector") {
  const auto policy = ReadNicNodePolicy(
      {.name = "rack-1",
       .json = R"({"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"nodeSelector":{"rack":"1"},)"
               R"("ofedDriver":{"upgradePolicy":{"autoUpgrade":true,"maxParallelUpgrades":4}}}})"});
  REQUIRE(policy.ok());
  CHECK(policy->name == "rack-1");
  CHECK(absl::ToUnixSeconds(policy->created) == 1767323045);
  CHECK(policy->node_labels == StringMap{{"rack", "1"}});
  CHECK(policy->has_driver);
  CHECK(policy->upgrade.max_parallel == 4);
  CHECK_FALSE(ReadNicNodePolicy({.json = R"({"spec":{"rdmaSharedDevicePlugin":{}}})"})->has_driver);
  const std::string selector = GENERATE("7", R"({"rack":1})");
  CHECK(ReadNicNodePolicy({.json = R"({"spec":{"ofedDriver":{},"nodeSelector":)" + selector + "}}"}).status() ==
        absl::InvalidArgumentError("spec.nodeSelector: must be an object whose values are strings"));
  CHECK(ReadNicNodePolicy({.json = R"({"spec":{"nodeSelector":)" + selector + "}}"}).ok());
}

TEST_CASE("an invalid object leaves the last valid version of the same object in effect") {
  examples::PolicyMemory<NicClusterPolicy> memory;
  const auto read = [&](const std::vector<ApiObject>& objects) {
    return memory.Read(objects, ofed_operator::kNicClusterPolicies, ReadNicClusterPolicy);
  };
  const std::string good = R"({"upgradePolicy":{"autoUpgrade":true,"maxParallelUpgrades":5}})";
  CHECK(read({Policy(good)})[0].upgrade.max_parallel == 5);
  CHECK(memory.verdicts()[0].error.ok());
  CHECK(read({Policy(R"({"upgradePolicy":[]})")})[0].upgrade.max_parallel == 5);
  CHECK(memory.verdicts()[0].error ==
        absl::InvalidArgumentError("spec.ofedDriver.upgradePolicy: must be an object, got []"));
  CHECK_FALSE(read({Policy(R"({"upgradePolicy":7})", "nic-cluster-policy", "another uid")})[0].upgrade.auto_upgrade);
  CHECK(read({}).empty());
  CHECK(memory.verdicts().empty());
}

}  // namespace
}  // namespace driverupgrade::tests
