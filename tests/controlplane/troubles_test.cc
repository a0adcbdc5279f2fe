// Tests `upgradectl` on rollouts with problems: the output of each verb must match troubles/*.txt, and `explain` must
// name the true cause. DRIVERUPGRADE_REWRITE=1 rewrites these files.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gpu_operator.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "upgradectl_picture.h"
#include "upgradectl_program.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kPatient = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 100%
podDeletion: {timeoutSeconds: 3000}
)";

constexpr std::string_view kHasty = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 100%
podDeletion: {timeoutSeconds: 3}
drain: {enable: true, timeoutSeconds: 3}
)";

constexpr std::string_view kIgnoresCordoned = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 100%
cordonedNodes: Ignore
)";

constexpr std::string_view kPaused = "{autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 100%, paused: true}";

constexpr std::string_view kCanary = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 100%
podDeletion: {timeoutSeconds: 3}
drain: {enable: true, timeoutSeconds: 3}
rollout:
  stages: [{name: canary, nodes: 1, maxFailures: 0}]
)";

constexpr std::string_view kClusterPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {driver: {upgradePolicy: $POLICY}}
)";

constexpr std::string_view kLease = R"(
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: nvidia-gpu-driver-upgrade, namespace: $NAMESPACE}
spec: {holderIdentity: operator, leaseDurationSeconds: 3600, renewTime: "$NOW"}
)";

constexpr char kMicroTime[] = "%Y-%m-%dT%H:%M:%E6SZ";

// A ClusterPolicy with the section `policy`, deleted by the destructor.
class PolicyObject {
 public:
  PolicyObject(ControlPlane& control_plane, std::string_view policy) : admin_(control_plane.admin()) {
    control_plane.InstallPolicies();
    admin_.Create(Substitute(std::string(kClusterPolicy), {{"$POLICY", policy}}));
  }
  ~PolicyObject() { admin_.Run({"delete", "clusterpolicies", "--all"}); }
  PolicyObject(const PolicyObject&) = delete;
  PolicyObject& operator=(const PolicyObject&) = delete;

 private:
  const Kubectl& admin_;
};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Two nodes whose driver has a new revision, and the policy of their rollout.
class Trouble {
 public:
  Trouble(const std::string& name, std::string_view policy) : world_(ControlPlane::Shared(), name, 2) {
    const std::filesystem::path file = world_.control_plane().folder() / (name + ".yaml");
    WriteFile(file, policy);
    policy_options_ = {"--policy", file.string()};
    world_.DeployDriver();
    gpu_operator_ = std::make_unique<GpuOperator>(world_, policy);
    // The operator is stopped while the output is recorded. This Lease makes the operator look alive, so that
    // upgradectl does not report the stopped operator as the problem.
    world_.control_plane().admin().Create(
        Substitute(std::string(kLease), {{"$NAMESPACE", world_.driver_ns()},
                                         {"$NOW", absl::FormatTime(kMicroTime, absl::Now(), absl::UTCTimeZone())}}));
  }

  const World& world() const { return world_; }
  const std::string& node() const { return world_.nodes()[0]; }
  const std::string& other_node() const { return world_.nodes()[1]; }
  GpuOperator& gpu_operator() { return *gpu_operator_; }

  // Deploys one pod on each node. The disruption budgets allow no evictions of these pods.
  void DeployStrictWorkload() const {
    Workload workload;
    workload.name = "web";
    workload.replicas = 2;
    workload.unavailable_max = 0;
    world_.Deploy(workload);
  }

  // Runs the operator until the condition is true, then stops the operator.
  void RollUntil(const std::function<bool()>& condition) const {
    const std::unique_ptr<Process> process = gpu_operator_->Start();
    const bool is_so = Eventually(kStepLimit, condition);
    INFO(PictureOf(world_, {{"status"}}, Options() + policy_options_));
    REQUIRE(is_so);
  }
  void RollUntil(const std::string& node, const std::string& state) const {
    RollUntil([&] { return world_.Nodes().at(node).state == state; });
  }
  // Same as RollUntil, until `explain` prints `text` for `node`. The wait is needed because Events arrive a moment
  // after their cause.
  void RollUntilExplained(const std::string& node, const std::string& text) const {
    RollUntil([&] { return Explained(node).find(text) != std::string::npos; });
  }

  // Makes upgradectl look for the policy in the cluster instead of a file.
  void ForgetPolicyFile() { policy_options_.clear(); }

  // Returns the output of each verb for `node`. Verbs that write perform only a server-side dry run.
  std::string Picture(const std::string& node) const {
    const std::vector<Words> reading = {
        {"status"}, {"status", "-o", "wide"}, {"explain", node}, {"plan"}, {"preflight"}};
    const std::vector<Words> writing = {{"skip", node},       {"unskip", node}, {"retry", node}, {"request", node},
                                        {"allow-load", node}, {"pause"},        {"resume"}};
    const Words dry = Options() + Words{"--dry-run=server", "--yes"};
    return PictureOf(world_, reading, Options() + policy_options_) + "\n" + PictureOf(world_, writing, dry) + "\n" +
           PictureOf(world_, {{"approve", "canary"}}, dry + policy_options_);
  }

  std::string Explained(const std::string& node) const {
    return RunUpgradectl(world_.control_plane(), Words{"explain", node} + Options() + policy_options_).out;
  }

 private:
  Words Options() const {
    return UpgradectlOptions(world_, (world_.control_plane().folder() / "admin.kubeconfig").string());
  }

  World world_;
  Words policy_options_;
  std::unique_ptr<GpuOperator> gpu_operator_;
};

void ExpectNames(const std::string& text, const Words& wanted) {
  for (const std::string& part : wanted) {
    INFO(part << " in:\n" << text);
    CHECK(text.find(part) != std::string::npos);
  }
}

// Reports that the registry does not have the image, as a kubelet would.
void FailToPullImage(const World& world, const std::string& pod) {
  constexpr char kStatus[] = R"({"status": {"containerStatuses": [{
    "name": "driver", "image": "driver:2", "imageID": "", "ready": false, "restartCount": 0,
    "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"driver:2\""}}}]}})";
  world.control_plane().admin().Must({"patch", "pod", pod, "--namespace=" + world.driver_ns(), "--subresource=status",
                                      "--type=merge", "--patch=" + std::string(kStatus)});
}

TEST_CASE("An evacuation that a disruption budget blocks is explained by that budget", "[troubles]") {
  Trouble rollout("budget", kPatient);
  rollout.DeployStrictWorkload();
  rollout.world().ChangeDriver("driver:2");
  rollout.RollUntilExplained(rollout.node(), "refused by disruption budget web");
  ExpectNames(rollout.Explained(rollout.node()),
              {"DisruptionBudget: ", "disruption budget web: allows 0", "it never allows an eviction"});
  CheckPicture("budget", rollout.Picture(rollout.node()));
}

TEST_CASE("A driver whose image cannot be pulled is explained by the pull error", "[troubles]") {
  Trouble rollout("image", kPatient);
  rollout.world().ChangeDriverAndHold("driver:2");
  rollout.RollUntil([&] {
    const std::vector<DriverPod> pods = rollout.world().DriverPods();
    return std::any_of(pods.begin(), pods.end(),
                       [&](const DriverPod& pod) { return pod.node == rollout.node() && pod.is_held; });
  });
  FailToPullImage(rollout.world(), rollout.world().DriverPodOn(rollout.node()).name);
  ExpectNames(rollout.Explained(rollout.node()),
              {"DriverPodNotReady: ", R"(ImagePullBackOff Back-off pulling image "driver:2")"});
  CheckPicture("image", rollout.Picture(rollout.node()));
}

TEST_CASE("A failed node is explained by the cause of its failure", "[troubles]") {
  Trouble rollout("failed", kHasty);
  rollout.DeployStrictWorkload();
  rollout.world().ChangeDriver("driver:2");
  rollout.RollUntilExplained(rollout.node(), "Successfully updated node state label to upgrade-failed");
  ExpectNames(rollout.Explained(rollout.node()),
              {"Failed: ", "failed 1 time", "disruption budget web", "upgradectl retry " + rollout.node()});
  CheckPicture("failed", rollout.Picture(rollout.node()));
}

TEST_CASE("A node that an administrator has cordoned is explained by the cordon", "[troubles]") {
  Trouble rollout("cordoned", kIgnoresCordoned);
  rollout.world().Cordon(rollout.node());
  rollout.world().ChangeDriver("driver:2");
  rollout.RollUntil(rollout.other_node(), "upgrade-done");
  ExpectNames(rollout.Explained(rollout.node()),
              {"Cordoned: ", "cordoned by an administrator", "kubectl uncordon " + rollout.node()});
  CheckPicture("cordoned", rollout.Picture(rollout.node()));
}

TEST_CASE("A node in use by another driver is explained by that driver", "[troubles]") {
  Trouble rollout("other", kIgnoresCordoned);
  rollout.world().control_plane().admin().Must(
      {"label", "node", rollout.node(), "nvidia.com/ofed-driver-upgrade-state=drain-required"});
  rollout.world().ChangeDriver("driver:2");
  rollout.RollUntil(rollout.other_node(), "upgrade-done");
  ExpectNames(rollout.Explained(rollout.node()), {"OtherDriver: ", "nvidia.com/ofed is in drain-required",
                                                  "upgradectl explain " + rollout.node() + " --driver ofed"});
  CheckPicture("other", rollout.Picture(rollout.node()));
}

TEST_CASE("A paused rollout is explained by the policy", "[troubles]") {
  Trouble rollout("paused", kPaused);
  const PolicyObject policy(rollout.world().control_plane(), kPaused);
  rollout.ForgetPolicyFile();
  rollout.world().ChangeDriver("driver:2");
  rollout.RollUntil([&] {
    const auto nodes = rollout.world().Nodes();
    return std::all_of(nodes.begin(), nodes.end(),
                       [](const auto& node) { return node.second.state == "upgrade-required"; });
  });
  ExpectNames(rollout.Explained(rollout.node()), {"Paused: ", "opened by an administrator"});
  CheckPicture("paused", rollout.Picture(rollout.node()));
}

TEST_CASE("A halted rollout is explained by the halt, even if the ledger is lost", "[troubles]") {
  Trouble rollout("halted", kCanary);
  rollout.DeployStrictWorkload();
  rollout.world().ChangeDriver("driver:2");
  rollout.gpu_operator().set_more_options({"--ledger"});
  rollout.RollUntil([&] { return rollout.Explained(rollout.other_node()).find("Halted: ") != std::string::npos; });
  ExpectNames(rollout.Explained(rollout.other_node()),
              {"Halted: ", rollout.node(), "canary", "upgradectl approve canary"});
  CheckPicture("halted", rollout.Picture(rollout.other_node()));

  rollout.world().control_plane().admin().Must(
      {"delete", "configmap", "nvidia-gpu-driver-upgrade", "--namespace=" + rollout.world().driver_ns()});
  const std::string lost = rollout.Picture(rollout.other_node());
  ExpectNames(lost,
              {"not read: the record of the rollout: missing in the ledger world-driver/nvidia-gpu-driver-upgrade",
               "it is not known whether the rollout was halted before"});
  CheckPicture("ledger-lost", lost);
}

}  // namespace
}  // namespace driverupgrade::e2e
