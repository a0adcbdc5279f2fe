// Runs the commands of docs/operations.md, docs/upgrade-notes.md, the runbooks and the examples' pages exactly as
// printed.
#include <filesystem>
#include <memory>
#include <string>

#include "gpu_operator.h"
#include "json.h"
#include "manual.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 100%
podDeletion: {timeoutSeconds: 3}
drain: {enable: true, timeoutSeconds: 3}
)";

constexpr char kPrefix[] = "nvidia.com/gpu-driver-upgrade";

void ExpectRun(const World& world, int exit_code) {
  const OperatorResult result = GpuOperator(world, kPolicy).Run();
  INFO(result.output());
  REQUIRE(result.exit_code == exit_code);
}

void ExpectNames(const std::string& text, const std::string& wanted) {
  INFO(wanted << " in:\n" << text);
  CHECK(text.find(wanted) != std::string::npos);
}

// A namespace that a page assumes to exist.
class Namespace {
 public:
  Namespace(const World& world, const std::string& name) : admin_(world.control_plane().admin()), name_(name) {
    // The namespace of an earlier test may still be terminating.
    REQUIRE(Eventually(kStepLimit, [&] { return admin_.Run({"create", "namespace", name_}).exit_code == 0; }));
  }
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;
  ~Namespace() { admin_.Run({"delete", "namespace", name_}); }

 private:
  const Kubectl& admin_;
  const std::string name_;
};

// Runs a block of an example's page in the repository's root directory.
void Install(const World& world, const std::string& example, const std::string& block) {
  const Manual manual(world, "../examples/operators/" + example + "/README.md");
  const std::filesystem::path root = std::filesystem::path(DRIVERUPGRADE_DOCS_DIR).parent_path();
  for (const char* folder : {"deploy", "examples"}) {
    std::filesystem::create_directory_symlink(root / folder, manual.folder() / folder);
  }
  manual.Run(block);
}

void Annotate(const World& world, const std::string& node, const std::string& annotation) {
  world.control_plane().admin().Must({"annotate", "node", node, annotation});
}

TEST_CASE("operations.md: the progress of a rollout, a predicted pass, and the holder of a grant", "[procedures]") {
  World world(ControlPlane::Shared(), "stand", 2);
  const Manual manual(world, "operations.md");
  world.DeployDriver();
  const std::string node = world.nodes()[0];
  world.ChangeDriver("driver:2");
  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_more_options({"--ledger", "--leader-elect"});
  const OperatorResult result = gpu_operator.Run();
  INFO(result.output());
  REQUIRE(result.exit_code == 0);

  const std::string standing = manual.Run("ops-where", {{"NODE", node}});
  ExpectNames(standing, "upgrade-done");
  ExpectNames(standing, world.nodes()[1]);
  ExpectNames(standing, "Successfully updated node state label to");
  ExpectNames(standing, world.DriverPodOn(node).name);
  ExpectNames(manual.Run("ops-ledger"), world.nodes()[1]);
  const Manual no_leader(world, "runbooks/no-leader.md");
  ExpectNames(no_leader.Run("runbook-lease", {{"NAME", "nvidia-gpu-driver-upgrade"}}), "Z");  // end of a timestamp

  world.ChangeDriver("driver:3");
  std::filesystem::create_symlink(DRIVERUPGRADE_UPGRADECTL, manual.folder() / "upgradectl");
  WriteFile(manual.folder() / "policy.yaml", kPolicy);
  const std::string plan = manual.Run("ops-plan");
  ExpectNames(plan, node);
  ExpectNames(plan, "MaxParallel");
  CHECK(world.Nodes().at(node).state == "upgrade-done");
}

TEST_CASE("operations.md: a node that failed because of a disruption budget is found and retried", "[procedures]") {
  World world(ControlPlane::Shared(), "budget", 1);
  const Manual manual(world, "operations.md");
  world.DeployDriver();
  Workload workload;
  workload.name = "strict";
  workload.unavailable_max = 0;
  world.Deploy(workload);
  const std::string node = world.nodes()[0];
  world.ChangeDriver("driver:2");
  ExpectRun(world, 1);

  const std::string failed = manual.Run("ops-failed", {{"NODE", node}});
  ExpectNames(failed, node);
  ExpectNames(failed, "Failed to drain the node");
  ExpectNames(Manual(world, "runbooks/node-failed.md").Run("runbook-failed"), node);
  ExpectNames(Manual(world, "runbooks/cordon-leak.md").Run("runbook-cordons"), "nvidia.com/gpu");
  ExpectNames(manual.Run("ops-budgets", {{"NAMESPACE", world.workload_ns()}}), "strict");

  const std::string pod = *world.WorkloadPods().begin();
  manual.Run("ops-spare-pod", {{"NAMESPACE", world.workload_ns()}, {"POD", pod}});
  const rapidjson::Document spared =
      world.control_plane().admin().Get({"pod", pod, "--namespace=" + world.workload_ns()});
  CHECK(TextMap(spared, {"metadata", "labels"}).at(std::string(kPrefix) + "-drain.skip") == "true");

  world.control_plane().admin().Must({"delete", "poddisruptionbudget", "strict", "--namespace=" + world.workload_ns()});
  manual.Run("ops-retry", {{"NODE", node}});
  CHECK(world.Nodes().at(node).state == "upgrade-required");
  ExpectRun(world, 0);
  CHECK(world.Nodes().at(node).state == "upgrade-done");
}

TEST_CASE("operations.md: labels and annotations that an administrator sets and removes", "[procedures]") {
  World world(ControlPlane::Shared(), "labels", 1);
  const Manual manual(world, "operations.md");
  const std::string node = world.nodes()[0];
  manual.Run("ops-skip", {{"NODE", node}});
  CHECK(world.Nodes().at(node).labels.count(kPrefix + std::string(".skip")) == 0);
  const std::string safe_load = kPrefix + std::string(".driver-wait-for-safe-load");
  Annotate(world, node, safe_load + "=true");
  manual.Run("ops-release-load", {{"NODE", node}});
  CHECK(world.Nodes().at(node).annotations.count(safe_load) == 0);
}

TEST_CASE("operations.md: if an administrator takes over a cordon in the middle of an upgrade, the cordon stays",
          "[procedures]") {
  World world(ControlPlane::Shared(), "keep", 1);
  const Manual manual(world, "operations.md");
  world.DeployDriver();
  const std::string node = world.nodes()[0];
  world.ChangeDriverAndHold("driver:2");
  const GpuOperator gpu_operator(world, kPolicy);
  const std::unique_ptr<Process> process = gpu_operator.Start();
  REQUIRE(AwaitState(world, node, "pod-restart-required"));
  manual.Run("ops-keep-cordon", {{"NODE", node}});
  const OperatorResult result = gpu_operator.Finish(*process, [&] {
    for (const DriverPod& pod : world.DriverPods()) {
      if (pod.is_held && !pod.node.empty()) world.Release(world.driver_ns(), pod.name);
    }
  });
  INFO(result.output());
  CHECK(result.exit_code == 0);
  CHECK(world.Nodes().at(node).state == "upgrade-done");
  CHECK(world.Nodes().at(node).unschedulable);
}

TEST_CASE("operations.md: a node is upgraded by hand", "[procedures]") {
  World world(ControlPlane::Shared(), "byhand", 1);
  const Manual manual(world, "operations.md");
  world.DeployDriver();
  world.Deploy({});
  const std::string node = world.nodes()[0];
  const std::string pod = *world.WorkloadPods().begin();
  world.ChangeDriver("driver:2");
  manual.Run("ops-by-hand", {{"NODE", node}, {"SELECTOR", "app=work"}, {"POD", world.DriverPodOn(node).name}});
  CHECK(world.DriverPodOn(node).revision == world.NewestDriverRevision());
  CHECK(world.DriverPodOn(node).is_ready);
  CHECK_FALSE(world.Nodes().at(node).unschedulable);
  CHECK(world.WorkloadPods().count(pod) == 0);
}

TEST_CASE("upgrade-notes.md: the other operator is stopped, and the nodes keep no label or annotation of ours",
          "[procedures]") {
  World world(ControlPlane::Shared(), "notes", 2);
  const Manual manual(world, "upgrade-notes.md");
  world.Deploy({});
  manual.Run("stop-operator", {{"DEPLOYMENT", "work"}, {"NAMESPACE", world.workload_ns()}});
  const rapidjson::Document stopped =
      world.control_plane().admin().Get({"deployment", "work", "--namespace=" + world.workload_ns()});
  CHECK(Integer(stopped, {"spec", "replicas"}) == 0);

  for (const char* key :
       {".stage", ".failures", ".failure-class", ".failed-revision", ".restart-pod", ".restart-only", ".unit",
        ".isolated-devices", ".drain-start", ".unwanted-since", ".rollout-labels", ".reload-only"}) {
    Annotate(world, world.nodes()[0], kPrefix + std::string(key) + "=x");
  }
  Annotate(world, world.nodes()[0], "driverupgrade/cordoned-by=nvidia.com/gpu");
  manual.Run("remove-our-annotations");
  for (const auto& [key, value] : world.Nodes().at(world.nodes()[0]).annotations) {
    INFO(key);
    CHECK(key.find("upgrade") == std::string::npos);
  }
}

TEST_CASE("gpu_operator's page: resources, RBAC rules and a policy are installed", "[procedures]") {
  World world(ControlPlane::Shared(), "install-gpu", 1);
  const Namespace ns(world, "gpu-operator");
  const Kubectl& admin = world.control_plane().admin();
  Install(world, "gpu", "gpu-operator-install");
  const rapidjson::Document policy = admin.Get({"clusterpolicy", "cluster-policy"});
  CHECK(Integer(policy, {"spec", "driver", "upgradePolicy", "maxParallelUpgrades"}) == 2);
  ExpectNames(admin.Must({"get", "clusterpolicies"}), "POLICY");
  const std::string account = "--as=system:serviceaccount:gpu-operator:driver-upgrade";
  CHECK(admin.Run({"auth", "can-i", "watch", "clusterpolicies", account}).exit_code == 0);
  CHECK(admin.Run({"auth", "can-i", "patch", "nodes", account}).exit_code == 0);
  admin.Must({"delete", "crd", "clusterpolicies.nvidia.com", "nvidiadrivers.nvidia.com"});
}

TEST_CASE("ofed_operator's page: a resource, RBAC rules and a policy are installed", "[procedures]") {
  World world(ControlPlane::Shared(), "install-ofed", 1);
  const Namespace ns(world, "nvidia-network-operator");
  const Kubectl& admin = world.control_plane().admin();
  Install(world, "ofed", "ofed-operator-install");
  const rapidjson::Document policy = admin.Get({"nicclusterpolicy", "nic-cluster-policy"});
  CHECK(Integer(policy, {"spec", "ofedDriver", "upgradePolicy", "maxParallelUpgrades"}) == 1);
  const std::string account = "--as=system:serviceaccount:nvidia-network-operator:ofed-driver-upgrade";
  CHECK(admin.Run({"auth", "can-i", "watch", "nicclusterpolicies", account}).exit_code == 0);
  admin.Must({"delete", "crd", "nicclusterpolicies.mellanox.com", "nicnodepolicies.mellanox.com"});
}

TEST_CASE("safe_load_init's page: a waiting driver is released by hand", "[procedures]") {
  World world(ControlPlane::Shared(), "let-go", 1);
  const std::string node = world.nodes()[0];
  const std::string key = "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load";
  Annotate(world, node, key + "=true");
  Manual(world, "../examples/operators/safe_load_init/README.md").Run("let-driver-go", {{"gpu-7", node}});
  CHECK(world.Nodes().at(node).annotations.count(key) == 0);
}

}  // namespace
}  // namespace driverupgrade::e2e
