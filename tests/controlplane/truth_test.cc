// Compares `upgradectl simulate` with reality: a rollout runs on a cluster, and is also simulated from a dump that was
// taken before the rollout.
#include <algorithm>
#include <chrono>
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

// Number of API calls that the operator makes in parallel. The operator starts calls in plan order, so a later call can
// overtake at most the other calls in flight.
constexpr std::ptrdiff_t kCallsInFlight = 8;
// Time that the driver takes to start in both rollouts. It is long compared with a delay that the simulation does not
// model: a control plane on two processors needs about three seconds to process twenty-five nodes.
constexpr char kDriverStart[] = "24s";
constexpr char kPodStop[] = "2s";

struct Story {
  double seconds = 0;
  Peaks peaks = {};
  // Nodes in the order in which they started.
  std::vector<std::string> order = {};
};

// Expects that the simulation derived every duration that the dump can provide. The dump provides no validation time,
// because the cluster has no validation pods.
void ExpectMeasured(const std::string& told) {
  for (const char* option : {"--driver-start ", "--driver-stop ", "--pod-start ", "--pod-stop "}) {
    INFO(told);
    CHECK(told.find(option) != std::string::npos);
  }
}

// Source of the simulation's durations: flags, or only the pods and Events in the dump.
enum class Times { kGiven, kMeasured };

std::vector<std::string> FlagsOf(Times times) {
  if (times == Times::kMeasured) return {};
  return {"--driver-start", kDriverStart, "--driver-stop", "100ms", "--pod-start", "100ms", "--pod-stop", kPodStop};
}

Story Simulated(const World& world, const std::string& policy, Times times) {
  const std::filesystem::path folder = world.control_plane().folder();
  const std::string dump = (folder / "truth.json").string();
  const std::string file = (folder / "truth.yaml").string();
  WriteFile(dump,
            world.control_plane().admin().Must(
                {"get", "nodes,pods,daemonsets,controllerrevisions,poddisruptionbudgets,events", "-A", "-o", "json"}));
  WriteFile(file, policy);
  const auto ask = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--cluster", dump, "--policy", file, "--namespace", world.driver_ns(),
                                       "--driver-labels", "app=driver", "--jitter", "0", "-o", "json"});
    const std::vector<std::string> flags = FlagsOf(times);
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const KubectlResult answer = RunUpgradectl(world.control_plane(), arguments);
    INFO(answer.err);
    REQUIRE(answer.exit_code == 0);
    if (times == Times::kMeasured) ExpectMeasured(answer.err);
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

Story Rolled(const World& world, const std::string& policy, const std::string& driver) {
  Rollout rollout(world);
  world.ChangeDriver(driver, kDriverStart);
  GpuOperator gpu_operator(world, policy);
  gpu_operator.set_timeout(std::chrono::minutes(8));
  gpu_operator.set_more_options({"--ledger"});  // stages require the ledger
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

// Returns the largest number of nodes by which one node was overtaken. Node A was overtaken by node B if A started first
// in reality (`happened`), but B started first in the simulation (`told`).
std::ptrdiff_t OvertakenAtMost(const std::vector<std::string>& told, const std::vector<std::string>& happened) {
  std::map<std::string, std::ptrdiff_t> places;
  for (const std::string& node : happened) places.emplace(node, static_cast<std::ptrdiff_t>(places.size()));
  std::ptrdiff_t most = 0;
  for (auto node = told.begin(); node != told.end(); ++node) {
    REQUIRE(places.contains(*node));
    const auto later = [&](const std::string& other) { return places.at(other) > places.at(*node); };
    most = std::max(most, std::count_if(told.begin(), node, later));
  }
  return most;
}

void Compare(const std::string& name, const Story& told, const Story& happened) {
  const std::ptrdiff_t overtaken = OvertakenAtMost(told.order, happened.order);
  std::cout << std::fixed << std::setprecision(1) << name << ": simulated " << told.seconds << " s, was "
            << happened.seconds << " s; slots " << told.peaks.in_progress << " and " << happened.peaks.in_progress
            << "; unavailable " << told.peaks.unschedulable << " and " << happened.peaks.unschedulable
            << "; overtaken at most " << overtaken << std::endl;
  CHECK(told.seconds == Approx(happened.seconds).epsilon(0.15));
  CHECK(told.peaks.in_progress == happened.peaks.in_progress);
  CHECK(told.peaks.unschedulable == happened.peaks.unschedulable);
  CHECK(told.order.size() == happened.order.size());
  CHECK(overtaken < kCallsInFlight);
}

// A cluster whose driver and pods take a while to start and stop.
class Fleet {
 public:
  Fleet(const std::string& name, int nodes, std::optional<int> unavailable_max = std::nullopt)
      : name_(name), world_(ControlPlane::Shared(), name, nodes) {
    world_.DeployDriver();
    Workload workload;
    workload.replicas = nodes;
    workload.stop_delay = kPodStop;
    workload.unavailable_max = unavailable_max;
    world_.Deploy(workload);
  }

  void Roll(const std::string& policy, Times times = Times::kGiven) {
    const Story told = Simulated(world_, policy, times);
    const Story happened = Rolled(world_, policy, "driver:" + std::to_string(++version_));
    CHECK(told.order.size() == world_.nodes().size());
    Compare(name_ + (times == Times::kMeasured ? ", measured" : ""), told, happened);
  }

 private:
  const std::string name_;
  World world_;
  int version_ = 1;
};

constexpr char kSlots[] =
    "{autoUpgrade: true, maxParallelUpgrades: 25, maxUnavailable: 100%, drain: {enable: true, timeoutSeconds: 60}}";
constexpr char kUnavailable[] =
    "{autoUpgrade: true, maxParallelUpgrades: 0, maxUnavailable: 25, podDeletion: {timeoutSeconds: 60}}";
constexpr char kStages[] =
    "{autoUpgrade: true, maxParallelUpgrades: 30, maxUnavailable: 100%, drain: {enable: true, timeoutSeconds: 60}, "
    "rollout: {stages: [{name: canary, nodes: 20}]}}";
// Number of pods that may be unavailable at the same time. It is lower than the limit of 25 nodes in kSlots.
constexpr int kBudget = 12;

TEST_CASE("A rollout with slots and a later rollout in stages with measured times match their simulations", "[truth]") {
  Fleet fleet("slots", 50);
  fleet.Roll(kSlots);
  fleet.Roll(kStages, Times::kMeasured);
}

TEST_CASE("A rollout limited by maxUnavailable matches its simulation", "[truth_unavailable]") {
  Fleet("unavailable", 50).Roll(kUnavailable);
}

TEST_CASE("A rollout slowed down by a disruption budget matches its simulation", "[truth_budget]") {
  Fleet("budget", 50, kBudget).Roll(kSlots);
}

// Runs only on request, because each rollout takes four minutes.
TEST_CASE("Rollouts of 200 nodes match their simulations", "[.truth_200]") {
  SECTION("with slots, and then in stages") {
    Fleet fleet("slots-200", 200);
    fleet.Roll(kSlots);
    fleet.Roll(kStages, Times::kMeasured);
  }
  SECTION("with maxUnavailable") { Fleet("unavailable-200", 200).Roll(kUnavailable); }
  SECTION("with a disruption budget") { Fleet("budget-200", 200, kBudget).Roll(kSlots); }
}

}  // namespace
}  // namespace driverupgrade::e2e
