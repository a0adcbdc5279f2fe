#include "simulation/world/told_reasons.h"

#include "fmt/format.h"

namespace driverupgrade::testing::internal {

void ToldReasons::Follow(const Plan& plan, absl::Time now) {
  if (plan.gates_complete) reasons_.clear();
  for (const std::string& node : plan.ungated) reasons_.erase(node);
  for (const NodeGate& gate : plan.gates) reasons_[gate.node] = gate.gate.reason;
  is_behind_ = plan.wake_at && *plan.wake_at <= now;
}

std::string ToldReasons::WhyNot(const Plan& everything) const {
  if (is_behind_) return "";
  for (const NodeGate& gate : everything.gates) {
    const auto told = reasons_.find(gate.node);
    if (told != reasons_.end() && told->second == gate.gate.reason) continue;
    return fmt::format("node {} waits for {}, but {} was reported", gate.node, ToString(gate.gate.reason),
                       told == reasons_.end() ? "nothing" : ToString(told->second));
  }
  if (reasons_.size() == everything.gates.size()) return "";
  return fmt::format("{} nodes wait, but {} were reported", everything.gates.size(), reasons_.size());
}

}  // namespace driverupgrade::testing::internal
