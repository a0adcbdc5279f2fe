// Compares the budgets with the naive implementation (§5.3, dep-F2, dep-F14, dep-F18, dep-F19, arch-A6, arch-A9).
#include <algorithm>

#include "fmt/ranges.h"
#include "property/naive_budget.h"
#include "property/seeds.h"

namespace driverupgrade::tests {
namespace {

std::string Text(const Tally& tally) {
  return fmt::format("total {} pending {} in progress {} failed {} done {} slots {} unavailable {} by state {}",
                     tally.total, tally.pending, tally.in_progress, tally.failed, tally.done, tally.slots,
                     tally.unavailable, fmt::join(tally.by_state, ","));
}

std::string Text(const std::map<std::string, std::optional<GateReason>>& decisions) {
  std::string text;
  for (const auto& [node, reason] : decisions)
    text += fmt::format(" {}={}", node, reason ? ToString(*reason) : "start");
  return text;
}

// Returns Step's decision about each node that requested a slot.
std::map<std::string, std::optional<GateReason>> Decisions(const Plan& plan) {
  std::map<std::string, std::optional<GateReason>> decisions;
  for (const NodePlan& node : plan.nodes) {
    const bool admitted =
        std::find(node.path.begin(), node.path.end(), UpgradeState::kCordonRequired) != node.path.end();
    if (admitted) decisions[node.node] = std::nullopt;
  }
  for (const NodeGate& gate : plan.gates) {
    const GateReason reason = gate.gate.reason;
    const bool refused = reason == GateReason::kMaxParallel || reason == GateReason::kMaxUnavailable ||
                         reason == GateReason::kMaxFailures || reason == GateReason::kPaused;
    if (refused) decisions[gate.node] = reason;
  }
  return decisions;
}

TEST_CASE("dep-F18: totals equal a naive count") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    const Tally naive = AdmitNaively(cluster).totals;
    const Tally totals = cluster.Step().totals;
    return totals == naive ? "" : fmt::format("{}; naively {}", Text(totals), Text(naive));
  });
}

TEST_CASE("dep-F14: admissions, and the reasons of nodes that wait, match a naive count after each admission") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    const auto naive = AdmitNaively(cluster).decisions;
    const auto decisions = Decisions(cluster.Step());
    return decisions == naive ? "" : fmt::format("{}; naively {}", Text(decisions), Text(naive));
  });
}

TEST_CASE("I1: no budget is exceeded because of an admission") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    const NaiveAdmissions naive = AdmitNaively(cluster);
    const UpgradePolicy& policy = cluster.policy;
    if (policy.max_parallel && naive.slots_after > std::max(*policy.max_parallel, naive.totals.slots)) {
      return fmt::format("{} slots", naive.slots_after);
    }
    if (!policy.max_unavailable) return "";
    const int limit = NaiveLimit(*policy.max_unavailable, naive.totals.total);
    const bool exceeded = naive.unavailable_after > std::max(limit, naive.totals.unavailable);
    return exceeded ? fmt::format("{} unavailable", naive.unavailable_after) : "";
  });
}

}  // namespace
}  // namespace driverupgrade::tests
