#include "gpu/decide.h"

#include "absl/strings/match.h"
#include "support/catch.h"
#include "support/policy_memory.h"

namespace driverupgrade::tests {
namespace {

using gpu_operator::ActivePolicy;
using gpu_operator::ClusterPolicy;
using gpu_operator::Decide;
using gpu_operator::Decision;
using gpu_operator::NvidiaDriver;

const gpu_operator::DriverLabels kLabels = {
    .cluster_policy = LabelSelector::FromMatchLabels({{"app", "driver"}}),
    .nvidia_driver = LabelSelector::FromMatchLabels({{"component", "nvidia-driver"}})};

absl::Time At(int second) { return absl::UnixEpoch() + absl::Seconds(second); }

ClusterPolicy Policy(const std::string& name, bool use_nvidia_drivers = false, bool sandbox = false) {
  return {.name = name,
          .use_nvidia_drivers = use_nvidia_drivers,
          .sandbox = sandbox,
          .upgrade = {.auto_upgrade = true, .max_parallel = 7}};
}

std::string Names(const Decision& decision) {
  std::string names;
  for (const driverupgrade::EngineSpec& engine : decision.engines) {
    names += "[" + engine.name + " " + engine.driver_labels.ToString() + " " + engine.node_selector.ToString() + " " +
             (engine.policy.auto_upgrade ? "on" : "off") + "]";
  }
  return names;
}

TEST_CASE("the active policy is the oldest, and among equally old policies the first by name") {
  CHECK(ActivePolicy({}) == nullptr);
  std::vector<ClusterPolicy> policies = {Policy("c"), Policy("b"), Policy("a")};
  policies[0].created = At(1);
  policies[1].created = At(1);
  policies[2].created = At(2);
  CHECK(ActivePolicy(policies)->name == "b");
}

TEST_CASE("engines report the custom resource of their policy to upgradectl (W36)") {
  const Decision cluster = Decide({Policy("gpu-cluster-policy")}, {}, kLabels);
  REQUIRE(cluster.engines.size() == 1);
  CHECK(cluster.engines.front().policy_resource ==
        "nvidia.com/v1/clusterpolicies/gpu-cluster-policy:spec.driver.upgradePolicy");
  const Decision owner = Decide({}, {NvidiaDriver{.name = "a"}}, kLabels);
  REQUIRE(owner.engines.size() == 1);
  CHECK(owner.engines.front().policy_resource == "nvidia.com/v1alpha1/nvidiadrivers/a:spec.upgradePolicy");
}

TEST_CASE("upstream 1.3, 1.4: decisions are made in the documented order") {
  const NvidiaDriver a{.name = "a", .upgrade = {.auto_upgrade = true}};
  const NvidiaDriver b{.name = "b", .upgrade = {.auto_upgrade = false}};
  const std::string cluster = "[ app=driver  on]";
  const std::string owners =
      "[a component=nvidia-driver nvidia.com/gpu-operator.driver.owner=a on]"
      "[b component=nvidia-driver nvidia.com/gpu-operator.driver.owner=b off]";
  struct Row {
    std::vector<ClusterPolicy> policies;
    std::vector<NvidiaDriver> drivers;
    std::string engines;
  };
  const std::vector<Row> rows = {
      {{}, {}, ""},
      {{}, {b, a}, owners},
      {{Policy("p")}, {}, cluster},
      {{Policy("p")}, {a, b}, cluster},
      {{Policy("p", true)}, {a, b}, owners},
      {{Policy("p", true)}, {}, ""},
      {{Policy("p", false, true)}, {a, b}, ""},
      // NVIDIADrivers take precedence over sandbox workloads.
      {{Policy("p", true, true)}, {a, b}, owners},
      // Only the active ClusterPolicy decides.
      {{Policy("p"), Policy("q", true)}, {a}, cluster},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const Decision decision = Decide(rows[i].policies, rows[i].drivers, kLabels);
    CHECK(Names(decision) == rows[i].engines);
    CHECK_FALSE(decision.reason.empty());
  }
}

TEST_CASE("the nodes of a deleted NVIDIADriver are released unless a ClusterPolicy is responsible for them") {
  const auto gone = [](const Decision& decision) {
    std::string text;
    for (const auto& spec : decision.gone) text += "[" + spec.node_selector.ToString() + "]";
    return text;
  };
  const NvidiaDriver a{.name = "a"};
  const NvidiaDriver b{.name = "b"};
  CHECK(gone(Decide({}, {}, kLabels)) == "[]");
  CHECK(gone(Decide({}, {b, a}, kLabels)) == "[nvidia.com/gpu-operator.driver.owner notin (a,b)]");
  CHECK(gone(Decide({Policy("p", true)}, {a}, kLabels)) == "[nvidia.com/gpu-operator.driver.owner!=a]");
  CHECK(gone(Decide({}, {a, {.name = "unread", .understood = false}}, kLabels)).empty());
  CHECK(gone(Decide({Policy("p")}, {a}, kLabels)).empty());
  CHECK(gone(Decide({Policy("p", false, true)}, {a}, kLabels)).empty());
}

TEST_CASE("policies that are not in effect are reported with the reason") {
  const NvidiaDriver a{.name = "a"};
  const Decision by_policy = Decide({Policy("p"), Policy("q")}, {a}, kLabels);
  CHECK(by_policy.active == "p");
  CHECK(by_policy.idle_policies.at("q") == "ClusterPolicy p is in effect");
  CHECK_FALSE(by_policy.idle_policies.contains("p"));
  CHECK(by_policy.idle_drivers.at("a") == "ClusterPolicy p is in effect: its spec.driver.useNvidiaDriverCRD is off");
  const Decision by_drivers = Decide({Policy("p", true)}, {a}, kLabels);
  CHECK(by_drivers.idle_policies.contains("p"));
  CHECK(by_drivers.idle_drivers.empty());
  const Decision sandbox = Decide({Policy("p", false, true)}, {a}, kLabels);
  CHECK(sandbox.idle_policies.at("p").starts_with("spec.sandboxWorkloads.enabled"));
  CHECK(sandbox.idle_drivers.contains("a"));
  CHECK(Decide({}, {a}, kLabels).idle_drivers.empty());
}

TEST_CASE("a policy that was never valid freezes its nodes with a specific message") {
  const Decision decision = Decide({{.name = "p", .understood = false}}, {}, kLabels);
  CHECK(decision.engines.front().policy.frozen_because.starts_with("the policy is not valid"));
  CHECK(Decide({Policy("p")}, {}, kLabels).engines.front().policy.frozen_because.empty());
}

TEST_CASE("dep-F9: with autoUpgrade off, an engine runs but its nodes are frozen") {
  ClusterPolicy policy = Policy("p");
  policy.upgrade.auto_upgrade = false;
  CHECK(Names(Decide({policy}, {}, kLabels)) == "[ app=driver  off]");
}

struct PolicyMemories {
  examples::PolicyMemory<ClusterPolicy> policies;
  examples::PolicyMemory<NvidiaDriver> drivers;
  std::vector<ClusterPolicy> ReadPolicies(const std::vector<ApiObject>& objects) {
    return policies.Read(objects, gpu_operator::kClusterPolicies, gpu_operator::ReadClusterPolicy);
  }
  std::vector<NvidiaDriver> ReadDrivers(const std::vector<ApiObject>& objects) {
    return drivers.Read(objects, gpu_operator::kNvidiaDrivers, gpu_operator::ReadNvidiaDriver);
  }
};

ApiObject Object(const std::string& uid, const std::string& spec) {
  return {.name = "p-" + uid, .uid = uid, .resource_version = "1", .json = R"({"spec":)" + spec + "}"};
}

TEST_CASE("a custom resource is read with the defaults of its kind") {
  PolicyMemories memory;
  const auto policies = memory.ReadPolicies(
      {Object("1", R"({"driver":{"useNvidiaDriverCRD":true},"sandboxWorkloads":{"enabled":true}})"),
       Object("2", R"({"driver":{"upgradePolicy":{"autoUpgrade":true,"maxParallelUpgrades":0}}})")});
  REQUIRE(policies.size() == 2);
  CHECK(policies[0].use_nvidia_drivers);
  CHECK(policies[0].sandbox);
  CHECK_FALSE(policies[0].upgrade.auto_upgrade);
  CHECK(policies[1].upgrade.auto_upgrade);
  CHECK_FALSE(policies[1].upgrade.max_parallel);
  CHECK(policies[1].upgrade.max_unavailable == CountOrPercent(Percent{25}));
  CHECK(memory.ReadDrivers({Object("1", "{}")})[0].upgrade.auto_upgrade);
}

TEST_CASE("autoUpgrade is on if the section omits it, as in NVIDIA's documents, and off without a section") {
  PolicyMemories memory;
  const auto on = [&](const std::string& driver) {
    return memory.ReadPolicies({Object("1", R"({"driver":)" + driver + "}")})[0].upgrade.auto_upgrade;
  };
  CHECK(on(R"({"upgradePolicy":{}})"));
  CHECK_FALSE(on(R"({"upgradePolicy":{"autoUpgrade":false}})"));
  CHECK_FALSE(on("{}"));
  CHECK_FALSE(on(R"({"upgradePolicy":null})"));
}

TEST_CASE("a ClusterPolicy as in NVIDIA's manual is read") {
  PolicyMemories memory;
  const auto policy = memory.ReadPolicies({Object(
      "1",
      R"({"driver":{"upgradePolicy":{"gpuPodDeletion":{"force":true,"timeoutSeconds":60}},)"
      R"("manager":{"env":[{"name":"ENABLE_AUTO_DRAIN","value":"false"}]}},"daemonsets":{"updateStrategy":"OnDelete"}})")})
                          [0];
  REQUIRE(memory.policies.verdicts()[0].error.ok());
  REQUIRE(policy.upgrade.pod_deletion);
  CHECK(policy.upgrade.pod_deletion->force);
  CHECK(policy.upgrade.pod_deletion->timeout == absl::Seconds(60));
}

TEST_CASE("an NVIDIADriver either selects nodes or is the default, but not both") {
  PolicyMemories memory;
  const NvidiaDriver driver = memory.ReadDrivers({Object("1", R"({"nodeSelector":{"pool":"a"}})")})[0];
  CHECK(driver.node_labels == StringMap{{"pool", "a"}});
  CHECK(memory.ReadDrivers({Object("2", R"({"default":true})")})[0].is_default);
  memory.ReadDrivers({Object("3", R"({"default":true,"nodeSelector":{"pool":"a"}})")});
  CHECK(absl::IsInvalidArgument(memory.drivers.verdicts()[0].error));
  memory.ReadDrivers({Object("4", R"({"nodeSelector":{"nvidia.com/gpu-operator.driver.owner":"a"}})")});
  CHECK(absl::IsInvalidArgument(memory.drivers.verdicts()[0].error));
}

TEST_CASE("a version in a policy leads to a driver DaemonSet, which the engine upgrades") {
  PolicyMemories memory;
  const std::string driver =
      R"("repository":"nvcr.io/nvidia","image":"driver","version":"550","env":[{"name":"A","value":"1"}],)"
      R"("manager":{"image":"manager","version":"0.8","env":[{"name":"ENABLE_AUTO_DRAIN","value":"true"}]})";
  const auto policies = memory.ReadPolicies({Object("1", R"({"driver":{)" + driver + "}}")});
  const auto sets = Decide(policies, {}, kLabels).daemon_sets;
  REQUIRE(sets.size() == 1);
  CHECK(sets[0].name == "nvidia-driver-daemonset");
  CHECK(sets[0].labels.at("app") == "nvidia-driver-daemonset");
  CHECK(sets[0].image.reference == "nvcr.io/nvidia/driver:550");
  CHECK(sets[0].image.env == examples::Variables{{.name = "A", .value = "1"}});
  CHECK(sets[0].made_of == "p-1");
  REQUIRE(sets[0].probes.size() == 1);
  CHECK(sets[0].probes[0].kind == "startupProbe");
  CHECK(sets[0].probes[0].command.find("nvidia-smi") != std::string::npos);
  REQUIRE(sets[0].init);
  CHECK(sets[0].init->image.reference == "manager:0.8");
  CHECK(sets[0].init->image.env == examples::Variables{{.name = "ENABLE_AUTO_DRAIN", .value = "true"},
                                                       {.name = "ENABLE_GPU_POD_EVICTION", .value = "true"}});
  const auto drivers = memory.ReadDrivers({Object("1", "{" + driver + "}"), Object("2", "{}")});
  const auto owned = Decide({}, drivers, kLabels).daemon_sets;
  REQUIRE(owned.size() == 1);
  CHECK(owned[0].name == "nvidia-driver-p-1");
  CHECK(owned[0].node_selector.at("nvidia.com/gpu-operator.driver.owner") == "p-1");
  CHECK(Decide({Policy("p", false, /*sandbox=*/true)}, {}, kLabels).daemon_sets.empty());
}

TEST_CASE("neither nodes with a preinstalled driver nor policies with unsupported fields get a DaemonSet") {
  PolicyMemories memory;
  const std::string image = R"("image":"driver","version":"550")";
  const auto sets = [&](const std::string& version, const std::string& spec) {
    return Decide(memory.ReadPolicies({Object(version, spec)}), {}, kLabels).daemon_sets;
  };
  CHECK(sets("1", R"({"driver":{"enabled":false,)" + image + "}}").empty());
  const auto plain = sets("2", R"({"driver":{"enabled":true,"kernelModuleType":"open","usePrecompiled":false,)"
                               R"("licensingConfig":{"secretName":"","nlsEnabled":true},)"
                               R"("repoConfig":{"configMapName":""},)" +
                                   image + "}}");
  REQUIRE(plain.size() == 1);
  CHECK(plain[0].pods.refusal.ok());
  CHECK(plain[0].image.env == examples::Variables{{.name = "KERNEL_MODULE_TYPE", .value = "open"}});
  const auto licensed = sets("9", R"({"driver":{"licensingConfig":{"secretName":"vgpu"},)" + image + "}}");
  REQUIRE(licensed.size() == 1);
  CHECK(absl::StartsWith(licensed[0].pods.refusal.message(), "spec.driver.licensingConfig.secretName is set"));
  const auto precompiled = sets("3", R"({"driver":{"usePrecompiled":true,)" + image + "}}");
  REQUIRE(precompiled.size() == 1);
  CHECK(absl::StartsWith(precompiled[0].pods.refusal.message(), "spec.driver.usePrecompiled is set"));
  const auto drivers = memory.ReadDrivers({Object("4", R"({"nodeAffinity":{"a":"b"},"startupProbe":)"
                                                       R"({"initialDelaySeconds":1},)" +
                                                           image + "}")});
  const auto owned = Decide({}, drivers, kLabels).daemon_sets;
  REQUIRE(owned.size() == 1);
  CHECK(absl::StartsWith(owned[0].pods.refusal.message(), "spec.nodeAffinity is set"));
  CHECK(owned[0].pods.probe_times.at("startupProbe").at("initialDelaySeconds") == 1);
}

TEST_CASE("on OpenShift the Driver Toolkit builds the driver, unless the policy disables it") {
  gpu_operator::DriverLabels labels = kLabels;
  labels.toolkit = LabelSelector::FromMatchLabels({{"openshift.driver-toolkit", "true"}});
  ClusterPolicy policy = Policy("p");
  CHECK(Names(Decide({policy}, {}, labels)) == "[ openshift.driver-toolkit=true  on]");
  policy.uses_toolkit = false;
  CHECK(Names(Decide({policy}, {}, labels)) == "[ app=driver  on]");
  PolicyMemories memory;
  CHECK(memory.ReadPolicies({Object("1", "{}")})[0].uses_toolkit);
  CHECK_FALSE(memory.ReadPolicies({Object("2", R"({"operator":{"use_ocp_driver_toolkit":false}})")})[0].uses_toolkit);
}

TEST_CASE("an invalid policy leaves the last valid version in effect, and nodes are upgraded only by a valid version") {
  PolicyMemories memory;
  const std::string good = R"({"upgradePolicy":{"maxParallelUpgrades":5}})";
  const std::string bad = R"({"upgradePolicy":{"maxParallelUpgrades":-1}})";
  CHECK_FALSE(memory.ReadDrivers({Object("1", bad)})[0].upgrade.auto_upgrade);
  CHECK(memory.drivers.verdicts()[0].error.message().find("spec.upgradePolicy: maxParallelUpgrades") !=
        std::string::npos);
  CHECK(memory.ReadDrivers({Object("1", good)})[0].upgrade.max_parallel == 5);
  CHECK(memory.drivers.verdicts()[0].error.ok());
  CHECK(memory.ReadDrivers({Object("1", bad)})[0].upgrade.max_parallel == 5);
  CHECK(memory.ReadDrivers({Object("1", bad)})[0].upgrade.auto_upgrade);
  CHECK_FALSE(memory.drivers.verdicts()[0].error.ok());
  // This object has the same name but another UID, so the last valid version of the earlier object does not apply.
  CHECK_FALSE(memory.ReadDrivers({Object("2", bad)})[0].upgrade.auto_upgrade);
}

TEST_CASE("W9: driver.enabled: false releases the nodes, as a deletion of the policy does") {
  ClusterPolicy disabled = Policy("p");
  disabled.has_driver = false;
  const Decision decision = Decide({disabled}, {}, kLabels);
  CHECK(decision.engines.empty());
  REQUIRE(decision.gone.size() == 1);
  CHECK(decision.gone.front().driver_labels == kLabels.cluster_policy);
  CHECK(decision.gone.front().node_selector.empty());
  CHECK_FALSE(decision.idle_policies.contains("p"));
  CHECK_FALSE(decision.nodes.upgraded);
}

}  // namespace
}  // namespace driverupgrade::tests
