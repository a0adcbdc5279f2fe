#include "service/parallel_share.h"

#include <random>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::ParallelShare;
using internal::SlotsAfter;
using internal::SlotUse;
using internal::UnderShare;

TEST_CASE("a share is what the engine has, and what the limit leaves") {
  const std::vector<SlotUse> uses = {2, 0, 1};
  CHECK(ParallelShare(uses, 0, 5) == 4);
  CHECK(ParallelShare(uses, 1, 5) == 2);
  CHECK(ParallelShare(uses, 2, 5) == 3);
  // Over the limit, because it was lowered: nobody loses what it has.
  CHECK(ParallelShare(uses, 0, 1) == 2);
  CHECK(ParallelShare(uses, 1, 1) == 0);
}

TEST_CASE("nobody starts while it is not known what another one has") {
  CHECK(ParallelShare({2, std::nullopt}, 0, 5) == 2);
  CHECK(ParallelShare({2, std::nullopt}, 1, 5) == 0);
}

TEST_CASE("a policy keeps its own limit if that is smaller, and is paused by a share of nothing") {
  const UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 3};
  CHECK(UnderShare(policy, 5) == policy);
  CHECK(UnderShare(policy, 2).max_parallel == 2);
  CHECK(UnderShare({.max_parallel = std::nullopt}, 2).max_parallel == 2);
  CHECK(UnderShare(policy, 0).paused);
  CHECK_FALSE(UnderShare(policy, 1).paused);
}

TEST_CASE("a plan holds the slots that are held, and those of the nodes that it starts") {
  Plan plan;
  plan.totals.slots = 2;
  plan.nodes.resize(3);
  plan.nodes[0] = {
      .from = UpgradeState::kUpgradeRequired, .path = {UpgradeState::kCordonRequired}, .needs_grant = true};
  plan.nodes[1] = {.from = UpgradeState::kDrainRequired, .path = {UpgradeState::kPodRestartRequired}};
  plan.nodes[2] = {.from = UpgradeState::kUnknown, .path = {UpgradeState::kUpgradeRequired}};
  CHECK(SlotsAfter(plan) == 3);
}

// Engines as the share sees them: each takes as much as it may, and gives back at random.
TEST_CASE("engines that are stepped in turn never hold more than the limit together") {
  std::mt19937 random(GENERATE(range(0u, 50u)));
  const int limit = static_cast<int>(random() % 6);
  std::vector<int> held(1 + random() % 4, 0);
  std::vector<SlotUse> seen(held.size());
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < held.size(); ++i) {
      held[i] -= static_cast<int>(random() % (held[i] + 1u));
      const int own = 1 + static_cast<int>(random() % 4);
      const UpgradePolicy policy = UnderShare({.max_parallel = own}, ParallelShare(seen, i, limit));
      // A pass sees what it holds by now, and starts up to its limit.
      if (!policy.paused) held[i] = std::max(held[i], *policy.max_parallel);
      seen[i] = held[i];
    }
    int total = 0;
    for (const int count : held) total += count;
    CHECK(total <= limit);
  }
}

}  // namespace
}  // namespace driverupgrade::tests
