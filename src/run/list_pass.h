// A pass that lists the cluster, and waits for the answers to its requests: nobody would tell of them.
#ifndef DRIVERUPGRADE_SRC_RUN_LIST_PASS_H_
#define DRIVERUPGRADE_SRC_RUN_LIST_PASS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_snapshot.h"
#include "write/plan_executor.h"
#include "driverupgrade/snapshot_builder.h"
#include "run/ledger_pass.h"
#include "run/pass.h"

namespace driverupgrade::internal {

class ListPass final : public Pass {
 public:
  // `ledger`: nullptr for none. It, `builder` and `executor` outlive this.
  ListPass(StateMachine machine, SnapshotBuilder& builder, std::shared_ptr<Clock> clock, LedgerPass* ledger,
           PlanExecutor& executor);

  std::vector<NodeOutcome> Collect(AttemptLog& log) override;
  // Its gates are complete.
  absl::StatusOr<Plan> MakePlan(const CallContext& context, const PassInput& input, AttemptLog& log) override;
  void Withhold(const std::map<std::string, Gate>& gates, Plan& plan) override;
  // In the plan's order.
  std::vector<NodeOutcome> Carry(const CallContext& context, const Plan& plan, AttemptLog& log) override;
  bool SeesDaemonSet() const override { return sees_daemon_set_; }
  std::string UidOf(const std::string& node) const override;

 private:
  void Show(const ClusterSnapshot& snapshot);

  SnapshotBuilder& builder_;
  const std::shared_ptr<Clock> clock_;
  LedgerPass* const ledger_;
  PlanExecutor& executor_;
  std::map<std::string, std::string> uids_;  // of the managed nodes, by name
  bool sees_daemon_set_ = false;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_LIST_PASS_H_
