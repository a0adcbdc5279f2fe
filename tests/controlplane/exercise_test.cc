// Tests docs/on-call-exercise.md: upgradectl shows the cause of each broken rollout, and the page's commands repair the
// rollout. With DRIVERUPGRADE_EXERCISE set, the user repairs it instead (scripts/exercise.sh).
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "manual.h"
#include "support.h"
#include "support/catch.h"
#include "viewed.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kNodes = 4;

constexpr std::string_view kHasty = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 100%
podDeletion: {timeoutSeconds: 10}
)";

constexpr std::string_view kCanary = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 100%
rollout: {stages: [{name: canary, nodes: 1, approval: Manual}]}
)";

constexpr std::string_view kIgnoresCordoned = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 100%
cordonedNodes: Ignore
)";

// A broken rollout.
class Exercise {
 public:
  // Returns nullptr if this machine cannot run the exercise. Node names contain `name`, so `name` must not reveal the
  // cause.
  static std::unique_ptr<Exercise> Make(const std::string& name, std::string_view policy = Viewed::kPatient) {
    auto viewed = Viewed::Make("exercise-" + name, kNodes, policy);
    return viewed == nullptr ? nullptr : std::unique_ptr<Exercise>(new Exercise(std::move(viewed)));
  }

  const Viewed& viewed() const { return *viewed_; }
  void Begin() { viewed_->Begin(); }
  void DeployStrictWorkload() const {
    Workload workload;
    workload.name = "web";
    workload.replicas = kNodes;
    workload.unavailable_max = 0;
    viewed_->world().Deploy(workload);
  }

  // `upgradectl status` must show the text `symptom` before the rollout is repaired.
  void Solve(const std::string& symptom, const std::string& block, const Manual::Words& words = {}) const {
    REQUIRE(viewed_->Tells({"status"}, symptom));
    const Stopwatch stopwatch;
    const bool by_hand = std::getenv("DRIVERUPGRADE_EXERCISE") != nullptr;
    if (by_hand) {
      Greet();
    } else {
      manual_.Run(block, words);
    }
    const bool solved = Eventually(by_hand ? std::chrono::hours(1) : std::chrono::minutes(2), [&] { return IsDone(); });
    INFO(viewed_->Show({"status"}));
    CHECK(solved);
    if (by_hand) std::cout << "Solved in " << static_cast<int>(stopwatch.seconds()) << " s.\n" << std::flush;
  }

 private:
  explicit Exercise(std::unique_ptr<Viewed> viewed)
      : viewed_(std::move(viewed)), manual_(viewed_->world(), "on-call-exercise.md") {
    std::filesystem::create_symlink(DRIVERUPGRADE_UPGRADECTL, manual_.folder() / "upgradectl");
  }

  bool IsDone() const {
    return viewed_->Show({"status"}).find("nvidia.com/gpu done: 4 of 4 done") != std::string::npos;
  }

  void Greet() const {
    std::cout << "\nThe rollout is stuck. In another terminal:\n\n"
              << "  export KUBECONFIG=" << (viewed_->world().control_plane().folder() / "admin.kubeconfig").string()
              << "\n"
              << "  export PATH=" << manual_.folder().string() << ":$PATH\n"
              << "  upgradectl status\n\n"
              << "This ends when all " << kNodes << " nodes are done. Ctrl-C gives up.\n"
              << std::flush;
  }

  const std::unique_ptr<Viewed> viewed_;
  const Manual manual_;
};

TEST_CASE("on-call-exercise.md: 1, evictions are refused", "[exercise][exercise-1]") {
  const auto exercise = Exercise::Make("1");
  if (exercise == nullptr) return;
  exercise->DeployStrictWorkload();
  exercise->Begin();
  exercise->viewed().world().ChangeDriver("driver:2");
  exercise->Solve("DisruptionBudget: ", "exercise-budget", {{"NAMESPACE", exercise->viewed().world().workload_ns()}});
}

TEST_CASE("on-call-exercise.md: 2, nothing moves", "[exercise][exercise-2]") {
  const auto exercise = Exercise::Make("2");
  if (exercise == nullptr) return;
  exercise->Begin();
  exercise->viewed().Freeze("UPDATE", "nodes");
  exercise->viewed().world().ChangeDriver("driver:2");
  exercise->Solve("the operator's request failed: ", "exercise-webhook");
}

TEST_CASE("on-call-exercise.md: 3, it stops after one node", "[exercise][exercise-3]") {
  const auto exercise = Exercise::Make("3", kCanary);
  if (exercise == nullptr) return;
  exercise->Begin();
  exercise->viewed().world().ChangeDriver("driver:2");
  exercise->Solve("Approval", "exercise-approval");
}

TEST_CASE("on-call-exercise.md: 4, one node is left", "[exercise][exercise-4]") {
  const auto exercise = Exercise::Make("4", kIgnoresCordoned);
  if (exercise == nullptr) return;
  exercise->Begin();
  exercise->viewed().world().Cordon(exercise->viewed().node());
  exercise->viewed().world().ChangeDriver("driver:2");
  REQUIRE(exercise->viewed().Tells({"status"}, "3 of 4 done"));
  exercise->Solve("Cordoned: ", "exercise-cordon", {{"NODE", exercise->viewed().node()}});
}

TEST_CASE("on-call-exercise.md: 5, a node has failed", "[exercise][exercise-5]") {
  const auto exercise = Exercise::Make("5", kHasty);
  if (exercise == nullptr) return;
  exercise->DeployStrictWorkload();
  exercise->Begin();
  exercise->viewed().world().ChangeDriver("driver:2");
  exercise->Solve("upgrade-failed", "exercise-failed",
                  {{"NODE", exercise->viewed().node()}, {"NAMESPACE", exercise->viewed().world().workload_ns()}});
}

}  // namespace
}  // namespace driverupgrade::e2e
