#include "service/parallel_share.h"

#include <random>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::SharedSlotsOf;
using internal::SlotUse;

TEST_CASE("each engine gets the common limit and the number of slots that the other engines use") {
  const std::vector<SlotUse> uses = {2, 0, 1};
  CHECK(SharedSlotsOf(uses, 0, 5) == SharedSlots{.max = 5, .used_elsewhere = 1});
  CHECK(SharedSlotsOf(uses, 1, 5) == SharedSlots{.max = 5, .used_elsewhere = 3});
  CHECK(SharedSlotsOf({4}, 0, 5) == SharedSlots{.max = 5, .used_elsewhere = 0});
}

TEST_CASE(
    "until an engine has run a pass, its slots are unknown to other engines, but it counts the slots of the others") {
  CHECK(SharedSlotsOf({2, std::nullopt}, 0, 5) == SharedSlots{.max = 5, .used_elsewhere = std::nullopt});
  CHECK(SharedSlotsOf({2, std::nullopt}, 1, 5) == SharedSlots{.max = 5, .used_elsewhere = 2});
}

TEST_CASE("the slots of an engine are unknown before it has checked all nodes") {
  internal::SlotObserver observer;
  observer.OnPlan({.finished = false});
  CHECK(observer.use() == std::nullopt);
  observer.OnPlan({.totals = {.slots = 3}});
  CHECK(observer.use() == 3);
  observer.OnPlan({.finished = false});
  CHECK(observer.use() == 3);
}

// Models engines that take as many slots as the limits allow, and release slots at random.
TEST_CASE("engines that are stepped in turn never exceed their common limit") {
  std::mt19937 random(GENERATE(range(0u, 50u)));
  const int limit = static_cast<int>(random() % 6);
  std::vector<int> held(1 + random() % 4, 0);
  std::vector<SlotUse> seen(held.size());
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < held.size(); ++i) {
      held[i] -= static_cast<int>(random() % (held[i] + 1u));
      UpgradeBudget budget{.parallel_max = 1 + static_cast<int>(random() % 4), .parallel_used = held[i]};
      budget.shared = SharedSlotsOf(seen, i, limit);
      // A pass counts the slots that the engine holds now, and starts nodes up to its limits.
      held[i] += budget.ParallelFree();
      seen[i] = held[i];
    }
    int total = 0;
    for (const int count : held) total += count;
    CHECK(total <= limit);
  }
}

}  // namespace
}  // namespace driverupgrade::tests
