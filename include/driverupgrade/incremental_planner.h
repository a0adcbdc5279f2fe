/// Keeps the views of all nodes between passes, and plans from them.
///
/// Defines IncrementalPlanner. For now each pass is a full Step over the views. Not thread-safe.
#ifndef DRIVERUPGRADE_INCREMENTAL_PLANNER_H_
#define DRIVERUPGRADE_INCREMENTAL_PLANNER_H_
#include <map>
#include <memory>

#include "driverupgrade/state_machine.h"
namespace driverupgrade::inline v1 {
class IncrementalPlanner {
 public:
  explicit IncrementalPlanner(StateMachine machine) : machine_(std::move(machine)) {}
  void SetPolicy(const UpgradePolicy& policy) { policy_ = policy; }
  void SetDriver(std::shared_ptr<const DriverFacts> f, std::vector<Finding> findings) {
    driver_ = f;
    findings_ = findings;
  }
  void SetActiveSince(absl::Time t) { since_ = t; }
  void Update(std::shared_ptr<const NodeView> v) { views_[v->node.name] = v; }
  void Remove(const std::string& n) { views_.erase(n); }
  Plan Advance(absl::Time now) {
    ClusterSnapshot s;
    for (auto& [n, v] : views_) s.nodes.push_back(v);
    s.driver = driver_;
    s.findings = findings_;
    s.active_since = since_;
    last_ = machine_.Step(s, policy_, now);
    return last_;
  }
  std::optional<Gate> Explain(const std::string& node) const {
    for (auto& g : last_.gates)
      if (g.node == node) return g.gate;
    return std::nullopt;
  }
  Plan Everything() const { return last_; }

 private:
  StateMachine machine_;
  UpgradePolicy policy_;
  std::shared_ptr<const DriverFacts> driver_ = std::make_shared<DriverFacts>();
  std::vector<Finding> findings_;
  absl::Time since_;
  std::map<std::string, std::shared_ptr<const NodeView>> views_;
  Plan last_;
};
}  // namespace driverupgrade::inline v1
#endif
