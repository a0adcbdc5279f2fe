// `upgradectl simulate` against the truth: the same cluster rolled for real, and simulated from its dump before.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu_operator.h"
#include "json.h"
#include "rollout_expectations.h"
#include "support.h"
#include "support/catch.h"
#include "upgradectl_program.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kSideBySide = 25;
// Of both. Long beside the three seconds or so that a control plane on two processors needs for twenty-five nodes at
// once, which a simulation does not have.
constexpr char kDriverStart[] = "24s";
constexpr char kPodStop[] = "2s";

struct Story {
  double seconds = 0;
  Peaks peaks = {};
  // By when they began.
  std::vector<std::string> order = {};
};

Story Simulated(const World& world, const std::string& policy) {
  const std::filesystem::path folder = world.control_plane().folder();
  const std::string dump = (folder / "truth.json").string();
  const std::string file = (folder / "truth.yaml").string();
  WriteFile(dump, world.control_plane().admin().Must(
                      {"get", "nodes,pods,daemonsets,controllerrevisions,poddisruptionbudgets", "-A", "-o", "json"}));
  WriteFile(file, policy);
  const auto ask = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--cluster",
                                       dump,
                                       "--policy",
                                       file,
                                       "--namespace",
                                       world.driver_ns(),
                                       "--driver-labels",
                                       "app=driver",
                                       "--driver-start",
                                       kDriverStart,
                                       "--driver-stop",
                                       "100ms",
                                       "--pod-start",
                                       "100ms",
                                       "--pod-stop",
                                       kPodStop,
                                       "--jitter",
                                       "0",
                                       "-o",
                                       "json"});
    const KubectlResult answer = RunUpgradectl(world.control_plane(), arguments);
    INFO(answer.err);
    REQUIRE(answer.exit_code == 0);
    return ParseJson(answer.out, arguments.front());
  };
  const rapidjson::Document rollout = ask({"simulate", "--seeds", "1"});
  const rapidjson::Document timeline = ask({"timeline", "--simulate"});
  Story story{.seconds = static_cast<double>(timeline["length"].GetInt64()) / 1000};
  story.peaks.unschedulable = rollout[0]["unavailablePeak"].GetInt();
  for (const auto& slot : timeline["slots"].GetArray()) {
    story.peaks.in_progress = std::max(story.peaks.in_progress, slot[1].GetInt());
  }
  std::map<std::pair<std::int64_t, std::string>, std::string> by_start;
  for (const auto& node : timeline["nodes"].GetArray()) {
    const std::string name = node["name"].GetString();
    for (const auto& span : node["spans"].GetArray()) {
      const std::string state = timeline["states"][span[0].GetUint()][0].GetString();
      if (!IsInProgress(state)) continue;
      by_start[{span[1].GetInt64(), name}] = name;
      break;
    }
  }
  for (const auto& [start, name] : by_start) story.order.push_back(name);
  return story;
}

Story Rolled(const World& world, const std::string& policy) {
  Rollout rollout(world);
  world.ChangeDriver("driver:2", kDriverStart);
  GpuOperator gpu_operator(world, policy);
  gpu_operator.set_timeout(std::chrono::minutes(8));
  const OperatorResult result = gpu_operator.Run();
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  ExpectEveryNodeUpgraded(rollout);
  Story story{.seconds = result.seconds, .peaks = MeasurePeaks(rollout)};
  std::map<std::uint64_t, std::string> by_start;
  for (const std::string& node : world.nodes()) {
    for (const NodeVersion& version : rollout.watch.Read().VersionsOf(node)) {
      if (!IsInProgress(version.state)) continue;
      by_start[version.version] = node;
      break;
    }
  }
  for (const auto& [version, name] : by_start) story.order.push_back(name);
  return story;
}

// By how many places the nodes stand apart at most.
int Apart(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::ptrdiff_t apart = 0;
  for (auto node = a.begin(); node != a.end(); ++node) {
    const auto other = std::find(b.begin(), b.end(), *node);
    REQUIRE(other != b.end());
    apart = std::max(apart, std::abs((other - b.begin()) - (node - a.begin())));
  }
  return static_cast<int>(apart);
}

void Compare(const std::string& name, int nodes, const std::string& policy,
             std::optional<int> unavailable_max = std::nullopt) {
  World world(ControlPlane::Shared(), name, nodes);
  world.DeployDriver();
  Workload workload;
  workload.replicas = nodes;
  workload.stop_delay = kPodStop;
  workload.unavailable_max = unavailable_max;
  world.Deploy(workload);
  const Story told = Simulated(world, policy);
  const Story happened = Rolled(world, policy);
  const int apart = Apart(told.order, happened.order);
  std::cout << std::fixed << std::setprecision(1) << name << ": simulated " << told.seconds << " s, was "
            << happened.seconds << " s; slots " << told.peaks.in_progress << " and " << happened.peaks.in_progress
            << "; unavailable " << told.peaks.unschedulable << " and " << happened.peaks.unschedulable
            << "; places apart at most " << apart << std::endl;
  CHECK(told.seconds == Approx(happened.seconds).epsilon(0.15));
  CHECK(told.peaks.in_progress == happened.peaks.in_progress);
  CHECK(told.peaks.unschedulable == happened.peaks.unschedulable);
  CHECK(told.order.size() == static_cast<std::size_t>(nodes));
  // Those that one pass starts are written at the same time, in no order.
  CHECK(apart < kSideBySide);
}

constexpr char kSlots[] =
    "{autoUpgrade: true, maxParallelUpgrades: 25, maxUnavailable: 100%, drain: {enable: true, timeoutSeconds: 60}}";
constexpr char kUnavailable[] =
    "{autoUpgrade: true, maxParallelUpgrades: 0, maxUnavailable: 25, podDeletion: {timeoutSeconds: 60}}";
// Of the pods that 25 nodes have.
constexpr int kBudget = 12;

TEST_CASE("A rollout with slots takes the time, the order and the peaks that were simulated", "[truth]") {
  Compare("slots", 50, kSlots);
}

TEST_CASE("A rollout that may make so many nodes unavailable does, too", "[truth_unavailable]") {
  Compare("unavailable", 50, kUnavailable);
}

TEST_CASE("A rollout that a disruption budget slows down does, too", "[truth_budget]") {
  Compare("budget", 50, kSlots, kBudget);
}

// Four minutes each: on request.
TEST_CASE("Rollouts of 200 nodes do, too", "[.truth_200]") {
  SECTION("with slots") { Compare("slots-200", 200, kSlots); }
  SECTION("with so many unavailable") { Compare("unavailable-200", 200, kUnavailable); }
  SECTION("with a disruption budget") { Compare("budget-200", 200, kSlots, kBudget); }
}

}  // namespace
}  // namespace driverupgrade::e2e
