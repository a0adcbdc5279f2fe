#include "whatif/simulation/trials.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "fmt/format.h"
#include "whatif/json_view.h"

namespace driverupgrade::whatif {
namespace {

void AddBlockages(const Rollout& rollout, json::Value& row, json::Document& document) {
  auto& allocator = document.GetAllocator();
  json::Value list(json::kArrayType);
  for (const Blockage& blockage : BlockagesOf(rollout)) {
    json::Value object(json::kObjectType);
    object.AddMember("nodes", blockage.nodes, allocator);
    object.AddMember("failed", blockage.blocked.failed, allocator);
    object.AddMember("gate", json::Value(std::string(ToString(blockage.blocked.gate)), allocator), allocator);
    object.AddMember("subject", json::Value(blockage.blocked.subject, allocator), allocator);
    object.AddMember("example", json::Value(blockage.node, allocator), allocator);
    list.PushBack(object, allocator);
  }
  row.AddMember("obstacles", list, allocator);
}

void AddBlocked(const Rollout& rollout, json::Value& row, json::Document& document) {
  auto& allocator = document.GetAllocator();
  json::Value blocked(json::kObjectType);
  for (const auto& [node, how] : rollout.blocked) {
    json::Value held(json::kObjectType);
    held.AddMember("why", json::Value(fmt::format("{}: {}", CauseOf(how), how.why), allocator), allocator);
    held.AddMember("sinceSeconds", absl::ToInt64Seconds(how.since), allocator);
    blocked.AddMember(json::Value(node, allocator), held, allocator);
  }
  row.AddMember("blocked", blocked, allocator);
}

// Returns all DRA drivers that any policy isolates, so that all policies are compared on the same cluster.
std::vector<std::string> DriversOfAll(const Policies& policies) {
  std::vector<std::string> drivers;
  for (const auto& [name, policy] : policies) {
    for (const std::string& driver : IsolatedDrivers(policy)) {
      if (std::find(drivers.begin(), drivers.end(), driver) == drivers.end()) drivers.push_back(driver);
    }
  }
  return drivers;
}

// Returns null if the rollout does not finish.
json::Value Seconds(absl::Duration duration) {
  return duration == absl::InfiniteDuration() ? json::Value() : json::Value(absl::ToInt64Seconds(duration));
}

}  // namespace

absl::StatusOr<std::vector<Trial>> SimulatePolicies(const Situation& situation, const Policies& policies,
                                                    const Durations& durations, int seeds) {
  const std::vector<std::string> device_drivers = DriversOfAll(policies);
  std::vector<Trial> trials;
  for (const auto& [name, policy] : policies) {
    Trial trial{.policy = name};
    for (int seed = 1; seed <= seeds; ++seed) {
      absl::StatusOr<Rollout> rollout =
          SimulateRollout(situation, policy, device_drivers, durations, static_cast<std::uint32_t>(seed));
      if (!rollout.ok()) return rollout.status();
      trial.rollouts.push_back(*std::move(rollout));
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

std::vector<Blockage> BlockagesOf(const Rollout& rollout) {
  std::map<std::tuple<bool, GateReason, std::string>, Blockage> by_cause;
  for (const auto& [node, blocked] : rollout.blocked) {
    const auto [found, is_new] = by_cause.try_emplace({blocked.failed, blocked.gate, blocked.subject});
    Blockage& blockage = found->second;
    if (is_new || blocked.since < blockage.blocked.since) blockage = {blockage.nodes, node, blocked};
    ++blockage.nodes;
  }
  std::vector<Blockage> blockages;
  for (auto& [cause, blockage] : by_cause) blockages.push_back(std::move(blockage));
  std::stable_sort(blockages.begin(), blockages.end(), [](const Blockage& a, const Blockage& b) {
    return std::pair(a.blocked.failed, a.nodes) > std::pair(b.blocked.failed, b.nodes);
  });
  return blockages;
}

std::string CauseOf(const Blocked& blocked) {
  const std::string_view gate = ToString(blocked.gate);
  if (!blocked.failed || blocked.gate == GateReason::kFailed) return std::string(gate);
  return fmt::format("Failed, {}", gate);
}

bool Finishes(const Trial& trial) {
  return std::all_of(trial.rollouts.begin(), trial.rollouts.end(),
                     [](const Rollout& rollout) { return rollout.finishes; });
}

const Rollout& Shown(const Trial& trial) {
  const auto found = std::find_if_not(trial.rollouts.begin(), trial.rollouts.end(),
                                      [](const Rollout& rollout) { return rollout.finishes; });
  return found == trial.rollouts.end() ? trial.rollouts.front() : *found;
}

absl::Duration Makespan(const Trial& trial, int percent) {
  return Quantile(trial, percent, [](const Rollout& rollout) {
    return rollout.finishes ? rollout.makespan : absl::InfiniteDuration();
  });
}

std::string FormatTrialsJson(const std::vector<Trial>& trials) {
  json::Document document(json::kArrayType);
  auto& allocator = document.GetAllocator();
  for (const Trial& trial : trials) {
    json::Value row(json::kObjectType);
    row.AddMember("policy", json::Value(trial.policy, allocator), allocator);
    row.AddMember("finishes", Finishes(trial), allocator);
    row.AddMember("makespanSecondsMedian", Seconds(Makespan(trial, 50)), allocator);
    row.AddMember("makespanSeconds90", Seconds(Makespan(trial, 90)), allocator);
    const Rollout& shown = Shown(trial);
    row.AddMember("nodes", shown.nodes, allocator);
    row.AddMember("done", shown.done, allocator);
    row.AddMember("failed", shown.failed, allocator);
    row.AddMember("unavailablePeak", shown.unavailable_peak, allocator);
    row.AddMember("podsUnavailablePeak", shown.pods_unavailable_peak, allocator);
    if (shown.devices) {
      row.AddMember("nodesCordoned", shown.nodes_cordoned, allocator);
      row.AddMember("podsEvicted", shown.pods_evicted, allocator);
      row.AddMember("podsKept", shown.pods_kept, allocator);
    }
    row.AddMember("gangs", shown.gangs, allocator);
    row.AddMember("gangInterruptions", shown.gang_interruptions, allocator);
    row.AddMember("gangInterruptionsPeak", shown.gang_interruptions_peak, allocator);
    row.AddMember("evictions", shown.evictions, allocator);
    row.AddMember("writes", shown.writes, allocator);
    row.AddMember("requests", shown.requests, allocator);
    row.AddMember("passes", shown.passes, allocator);
    row.AddMember("wholePlans", shown.whole_plans, allocator);
    AddBlockages(shown, row, document);
    AddBlocked(shown, row, document);
    document.PushBack(row, allocator);
  }
  return ToPrettyJson(document);
}

}  // namespace driverupgrade::whatif
