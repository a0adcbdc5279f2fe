#include "observe/gate_memory.h"

#include <algorithm>
#include <set>

namespace driverupgrade::internal {

void GateMemory::Forget(const std::string& node) {
  const auto found = reasons_.find(node);
  if (found == reasons_.end()) return;
  --counts_[found->second];
  reasons_.erase(found);
}

std::vector<NodeGate> GateMemory::Follow(const Plan& plan) {
  std::vector<std::string> open = plan.ungated;
  if (plan.gates_complete) {
    std::set<std::string> waiting;
    for (const NodeGate& gate : plan.gates) waiting.insert(gate.node);
    for (const auto& [node, reason] : reasons_) {
      if (!waiting.contains(node)) open.push_back(node);
    }
  }
  for (const std::string& node : open) Forget(node);
  std::vector<NodeGate> changed;
  for (const NodeGate& gate : plan.gates) {
    const auto known = reasons_.find(gate.node);
    if (known != reasons_.end() && known->second == gate.gate.reason) continue;
    Forget(gate.node);
    reasons_[gate.node] = gate.gate.reason;
    ++counts_[gate.gate.reason];
    changed.push_back(gate);
  }
  return changed;
}

void CarryGates(const Plan& untold, Plan& plan) {
  if (plan.gates_complete) return;
  std::set<std::string> told(plan.ungated.begin(), plan.ungated.end());
  for (const NodeGate& gate : plan.gates) told.insert(gate.node);
  for (const NodeGate& gate : untold.gates) {
    if (!told.contains(gate.node)) plan.gates.push_back(gate);
  }
  if (untold.gates_complete) {
    // `untold` is complete and `plan` updates it, so the merged plan is complete.
    plan.gates_complete = true;
    plan.ungated.clear();
  } else {
    for (const std::string& node : untold.ungated) {
      if (!told.contains(node)) plan.ungated.push_back(node);
    }
  }
  std::sort(plan.gates.begin(), plan.gates.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  std::sort(plan.ungated.begin(), plan.ungated.end());
}

}  // namespace driverupgrade::internal
