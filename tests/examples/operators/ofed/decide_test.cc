#include "ofed/decide.h"

#include "ofed/driver_sets.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::Decide;
using ofed_operator::Decision;
using ofed_operator::NicClusterPolicy;
using ofed_operator::NicNodePolicy;

const LabelSelector kLabels = Selector("nvidia.com/ofed-driver=,ds-owner=NicClusterPolicy");

NicNodePolicy Of(const std::string& name, StringMap node_labels, int second = 0) {
  return {.name = name,
          .created = absl::UnixEpoch() + absl::Seconds(second),
          .node_labels = std::move(node_labels),
          .has_driver = true,
          .upgrade = {.auto_upgrade = true, .safe_load = true}};
}

std::string Shown(const Decision& decision) {
  std::string text;
  for (const driverupgrade::EngineSpec& engine : decision.engines) {
    text += "[" + engine.name + "|" + engine.driver_labels.ToString() + "|" + engine.node_selector.ToString() + "|" +
            engine.requestor_suffix + "|" + (engine.policy.auto_upgrade ? "on" : "off") + "]";
  }
  for (const auto& [name, error] : decision.refused) text += name + ": " + std::string(error.message());
  return text;
}

const std::string kCluster = "[|ds-owner=NicClusterPolicy,nvidia.com/ofed-driver=||";

TEST_CASE("upstream 2.3: without a NicNodePolicy there is one engine, which is frozen if there is no policy") {
  CHECK(Shown(Decide({}, {}, kLabels)) == kCluster + "|off]");
  CHECK_FALSE(Decide({}, {}, kLabels).init_config);
  const NicClusterPolicy policy{.has_driver = true, .upgrade = {.auto_upgrade = true}};
  CHECK(Shown(Decide(policy, {}, kLabels)) == kCluster + "|on]");
  CHECK(Decide(policy, {}, kLabels).init_config == policy.upgrade);
  NicNodePolicy without_driver = Of("a", {});
  without_driver.has_driver = false;
  CHECK(Shown(Decide({}, {without_driver}, kLabels)) == kCluster + "|off]");
}

TEST_CASE(
    "upstream 2.1, 2.3: each NicNodePolicy has an engine, DaemonSets, and a requestor for the nodes that it selects") {
  NicNodePolicy off = Of("b", {{"rack", "2"}}, 1);
  off.upgrade.auto_upgrade = false;
  CHECK(Shown(Decide({}, {off, Of("a", {{"rack", "1"}}, 2)}, kLabels)) ==
        "[b|ds-owner=nnp-b,nvidia.com/ofed-driver=|rack=2|-nnp-b|off]"
        "[a|ds-owner=nnp-a,nvidia.com/ofed-driver=|rack=1|-nnp-a|on]");
}

TEST_CASE("engines report the custom resource of their policy to upgradectl, unless the policy is in a file (W36)") {
  const NicClusterPolicy of_file{.has_driver = true};
  CHECK(Decide(of_file, {}, kLabels).engines.front().policy_resource.empty());
  const NicClusterPolicy cluster{.name = "nic-cluster-policy", .has_driver = true};
  CHECK(Decide(cluster, {}, kLabels).engines.front().policy_resource ==
        "mellanox.com/v1alpha1/nicclusterpolicies/nic-cluster-policy:spec.ofedDriver.upgradePolicy");
  CHECK(Decide({}, {Of("a", {{"rack", "1"}})}, kLabels).engines.front().policy_resource ==
        "mellanox.com/v1alpha1/nicnodepolicies/a:spec.ofedDriver.upgradePolicy");
}

TEST_CASE("the owners of a driver are the policies with an engine, and are unknown while a policy is invalid") {
  const NicClusterPolicy policy{.has_driver = true, .upgrade = {.auto_upgrade = true}};
  REQUIRE(Decide(policy, {}, kLabels).owners);
  CHECK(Decide(policy, {}, kLabels).owners->size() == 1);
  CHECK(Decide(policy, {}, kLabels).owners->front().driver_labels == kLabels);
  const auto by_nodes = Decide({}, {Of("a", {{"rack", "1"}}), Of("late", {{"nic", "x"}}, 1)}, kLabels);
  REQUIRE(by_nodes.owners);
  REQUIRE(by_nodes.owners->size() == 1);  // the other policy is refused
  CHECK(by_nodes.owners->front().node_selector == Selector("rack=1"));
  REQUIRE(Decide({}, {}, kLabels).owners);
  CHECK(Decide({}, {}, kLabels).owners->empty());
  CHECK_FALSE(Decide({.understood = false}, {}, kLabels).owners);
  NicNodePolicy unread = Of("b", {});
  unread.has_driver = unread.understood = false;
  CHECK_FALSE(Decide({}, {Of("a", {{"rack", "1"}}), unread}, kLabels).owners);
}

TEST_CASE("a driver waits for a safe load only if all owners require it, because they share one configuration") {
  const NicNodePolicy safe = Of("a", {{"rack", "1"}});
  NicNodePolicy other = Of("b", {{"rack", "2"}});
  CHECK(Decide({}, {safe, other}, kLabels).init_config->safe_load);
  CHECK(Decide({}, {safe, other}, kLabels).init_config->auto_upgrade);
  SECTION("safe load is off") { other.upgrade.safe_load = false; }
  // With autoUpgrade off, no engine would unblock the driver (H25).
  SECTION("autoUpgrade is off") { other.upgrade.auto_upgrade = false; }
  const auto config = Decide({}, {safe, other}, kLabels).init_config;
  CHECK(config->safe_load == (other.upgrade.safe_load));
  CHECK(config->auto_upgrade == other.upgrade.auto_upgrade);
}

TEST_CASE("a node has only one driver, so a policy that would add another driver is refused with the reason") {
  const NicClusterPolicy policy{.has_driver = true, .upgrade = {.auto_upgrade = true}};
  CHECK(Shown(Decide(policy, {Of("a", {{"rack", "1"}})}, kLabels)) ==
        kCluster + "|on]a: spec.ofedDriver: NicClusterPolicy nic-cluster-policy already has a driver for all nodes");
  // Both selectors may match the same node: a node in rack 1 can have a cx7 NIC.
  const std::string overlap =
      Shown(Decide({}, {Of("late", {{"nic", "cx7"}}, 2), Of("early", {{"rack", "1"}}, 1)}, kLabels));
  CHECK(overlap ==
        "[early|ds-owner=nnp-early,nvidia.com/ofed-driver=|rack=1|-nnp-early|on]"
        "late: spec.nodeSelector: could select the same nodes as NicNodePolicy early");
  CHECK(Decide({}, {Of("a", {}), Of("b", {{"rack", "1"}})}, kLabels).refused.contains("b"));
}

std::string Gone(const Decision& decision) {
  std::string text;
  for (const driverupgrade::EngineSpec& spec : decision.gone) {
    text +=
        "[" + spec.driver_labels.ToString() + "|" + spec.node_selector.ToString() + "|" + spec.requestor_suffix + "]";
  }
  return text;
}

TEST_CASE("the nodes of a deleted policy are released, but not the nodes of other or invalid policies") {
  const NicClusterPolicy policy{.has_driver = true, .upgrade = {.auto_upgrade = true}};
  const NicNodePolicy a = Of("a", {{"rack", "1"}});
  const NicNodePolicy b = Of("b", {{"rack", "2"}, {"zone", "x"}});
  CHECK(Gone(Decide({}, {}, kLabels)) == "[nvidia.com/ofed-driver=||]");
  CHECK(Gone(Decide(policy, {}, kLabels)).empty());
  CHECK(Gone(Decide(policy, {a}, kLabels)).empty());
  // Nodes in rack 2 that are outside zone x have no owner either.
  CHECK(Gone(Decide({}, {a, b}, kLabels)) ==
        "[nvidia.com/ofed-driver=|rack!=1,rack!=2|][nvidia.com/ofed-driver=|rack!=1,zone!=x|]");
  CHECK(Gone(Decide({}, {a, Of("all", {})}, kLabels)).empty());
  CHECK(Gone(Decide({.understood = false}, {}, kLabels)).empty());
  NicNodePolicy unread{.name = "c", .understood = false};
  CHECK(Gone(Decide({}, {a, unread}, kLabels)).empty());
}

TEST_CASE(
    "a deleted NicNodePolicy releases its NodeMaintenances with its own id, unless another policy has its nodes") {
  const NicNodePolicy a = Of("a", {{"rack", "1"}});
  const NicNodePolicy b = Of("b", {{"rack", "2"}});
  std::vector<NicNodePolicy> seen;
  const auto departed = [&](const NicClusterPolicy& cluster, const std::vector<NicNodePolicy>& nodes) {
    Decision decision;
    ofed_operator::AddDeparted(cluster, nodes, kLabels, seen, decision);
    return Gone(decision);
  };
  const std::string only_a = "[ds-owner=nnp-a,nvidia.com/ofed-driver=|rack=1|-nnp-a]";
  CHECK(departed({}, {a, b}).empty());
  CHECK(departed({}, {b}) == only_a);
  NicNodePolicy without_driver = a;
  without_driver.has_driver = false;
  CHECK(departed({}, {without_driver, b}) == only_a);
  CHECK(departed({}, {Of("heir", {{"rack", "1"}}), b}).empty());
  CHECK(departed({.has_driver = true}, {}).empty());
  CHECK(departed({}, {a, b}).empty());
}

TEST_CASE("a NicNodePolicy with a name that is too long for its label is refused, and does not affect other policies") {
  const std::string name(60, 'n');
  const Decision decision = Decide({}, {Of(name, {{"rack", "1"}}), Of("a", {{"rack", "2"}})}, kLabels);
  CHECK(decision.refused.at(name).message().find("metadata.name") == 0);
  REQUIRE(decision.engines.size() == 1);
  CHECK(decision.engines[0].name == "a");
}

TEST_CASE("a version in a policy leads to a DaemonSet of the OFED driver for the owner in effect") {
  NicNodePolicy a = Of("a", {{"rack", "1"}});
  a.driver = examples::DriverImage{.reference = "doca-driver:25.01"};
  NicClusterPolicy cluster{.has_driver = true, .driver = examples::DriverImage{.reference = "doca-driver:24.10"}};
  const auto sets = ofed_operator::DriverSets(cluster, {a}, "net", "init:1");
  REQUIRE(sets.size() == 1);
  CHECK(sets[0].name == "mofed");
  CHECK(sets[0].image.reference == "doca-driver:24.10");
  CHECK(sets[0].labels == StringMap{{"ds-owner", "NicClusterPolicy"}, {"nvidia.com/ofed-driver", ""}});
  CHECK(sets[0].own_labels.contains("mofed-ds-format-version"));
  CHECK(sets[0].init->image.reference == "init:1");
  // Our image contains several programs and has no entry point, so the container names its command.
  CHECK(sets[0].init->command == std::vector<std::string>{"/usr/bin/safe_load_init"});
  std::string probes;
  for (const examples::DriverProbe& probe : sets[0].probes) probes += probe.kind + ": " + probe.command + "\n";
  CHECK(probes ==
        "startupProbe: ls /.driver-ready\nreadinessProbe: lsmod | grep mlx5_core\n"
        "livenessProbe: lsmod | grep mlx5_core\n");
  const auto owned = ofed_operator::DriverSets({}, {a, Of("b", {{"rack", "2"}})}, "net", "");
  REQUIRE(owned.size() == 1);
  CHECK(owned[0].labels.at("ds-owner") == "nnp-a");
  CHECK(owned[0].node_selector.at("rack") == "1");
  CHECK_FALSE(owned[0].init);
}

TEST_CASE("the selector for the wait label matches the driver pods of every owner") {
  CHECK(ofed_operator::OfAnyOwner(kLabels).ToString() == "nvidia.com/ofed-driver=");
  CHECK(ofed_operator::OfAnyOwner(Selector("ds-owner=x")).ToString() == "ds-owner=x");
}

}  // namespace
}  // namespace driverupgrade::tests
