#include "gpu/cluster_policy.h"

#include "absl/strings/match.h"
#include "gpu/decide.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using gpu_operator::ReadClusterPolicy;
using gpu_operator::ReadNvidiaDriver;

ApiObject Object(const std::string& spec) { return {.name = "p", .json = R"({"spec":)" + spec + "}"}; }

TEST_CASE("W30: an invalid driver image or pod setting never freezes a ClusterPolicy") {
  const auto policy = ReadClusterPolicy(
      Object(R"({"driver":{"version":"550","env":[{"value":"1"}],"imagePullSecrets":7,)"
             R"("upgradePolicy":{"maxParallelUpgrades":5}},"daemonsets":{"updateStrategy":"Never"}})"));
  REQUIRE(policy.ok());
  CHECK(policy->upgrade.auto_upgrade);
  CHECK(policy->upgrade.max_parallel == 5);
  CHECK(absl::StartsWith(policy->pods.refusal.message(), "spec.driver.imagePullSecrets: must be a list of names"));
  REQUIRE(policy->driver);
  CHECK(policy->driver->reference.empty());
}

TEST_CASE("W30: an invalid driver manager setting never freezes an NVIDIADriver") {
  const auto driver = ReadNvidiaDriver(Object(R"({"image":"driver","version":"550","manager":{"version":7}})"));
  REQUIRE(driver.ok());
  CHECK(driver->upgrade.auto_upgrade);
  CHECK(driver->pods.refusal.message() == "spec.manager.version: must be a string, got 7");
}

TEST_CASE("W30: an upgradePolicy that is not in use never freezes a ClusterPolicy") {
  const std::string bad = R"("upgradePolicy":{"maxParallelUpgrades":-1})";
  CHECK_FALSE(ReadClusterPolicy(Object(R"({"driver":{)" + bad + "}}")).ok());
  CHECK(ReadClusterPolicy(Object(R"({"driver":{"useNvidiaDriverCRD":true,)" + bad + "}}"))->use_nvidia_drivers);
  CHECK_FALSE(ReadClusterPolicy(Object(R"({"driver":{"enabled":false,)" + bad + "}}"))->has_driver);
  CHECK(ReadClusterPolicy(Object(R"({"sandboxWorkloads":{"enabled":true},"driver":{)" + bad + "}}"))->sandbox);
}

TEST_CASE("W32: with driver.enabled: false the annotation for driver managers is removed, and not written") {
  const auto policy = ReadClusterPolicy(Object(R"({"driver":{"enabled":false,"upgradePolicy":{"autoUpgrade":true}}})"));
  REQUIRE(policy.ok());
  const gpu_operator::NodeWishes wishes = gpu_operator::Decide({*policy}, {}, {}).nodes;
  Node node{.name = "n", .labels = {{gpu_operator::kGpuPresentLabel, "true"}}};
  CHECK_FALSE(gpu_operator::MarksPatch(node, false, wishes, Gpu()));
  node.annotations[gpu_operator::kUpgradeEnabledAnnotation] = "true";
  const auto patch = gpu_operator::MarksPatch(node, false, wishes, Gpu());
  REQUIRE(patch);
  CHECK(patch->annotations.at(gpu_operator::kUpgradeEnabledAnnotation) == std::nullopt);
}

}  // namespace
}  // namespace driverupgrade::tests
