#include "decide/rollout/order.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "decide/rollout/gangs.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

constexpr std::int64_t kPriorityMax = 999'999'999'999'999'999;

// Returns the priority that the text contains; 0 if the text is not a decimal number of up to 18 digits.
std::int64_t PriorityOf(std::string_view text) {
  if (text.size() > 18) return 0;
  std::int64_t priority = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    priority = 10 * priority + (c - '0');
  }
  return priority;
}

std::string KeyBy(const RolloutNode& node, const RolloutOrder& order) {
  const StringMap& labels = node.node->labels;
  const auto label = labels.find(order.label);
  switch (order.by) {
    case OrderBy::kIdle: return node.pods == 0 ? "0" : "1";
    // An unknown number of pods sorts after every known number.
    case OrderBy::kFewestPods: return node.pods ? fmt::format("{:010}", *node.pods) : ":";
    case OrderBy::kLabel:
      return fmt::format("{:018}", kPriorityMax - (label == labels.end() ? 0 : PriorityOf(label->second)));
    // The trailing NUL makes a value sort before all longer values that start with it, whatever follows in the key.
    case OrderBy::kTopology: return label == labels.end() ? "1" : "0" + label->second + '\0';
    case OrderBy::kName: return node.node->name + '\0';
  }
  return "";
}

}  // namespace

std::string SortKey(const RolloutNode& node, const std::vector<RolloutOrder>& order) {
  std::string key = node.turn;
  for (const RolloutOrder& by : order) key += KeyBy(node, by);
  return key + node.node->name;
}

bool OrdersByPods(const RolloutPolicy& rollout) {
  return GangsStartTogether(rollout) ||
         std::any_of(rollout.order.begin(), rollout.order.end(), [](const RolloutOrder& order) {
           return order.by == OrderBy::kIdle || order.by == OrderBy::kFewestPods;
         });
}

}  // namespace driverupgrade::internal
