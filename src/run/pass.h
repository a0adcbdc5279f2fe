// One pass of an engine: what is read, planned by it, and carried out. Whether it reads lists or a cache is its own
// matter; the planner, and what it says, are the same.
#ifndef DRIVERUPGRADE_SRC_RUN_PASS_H_
#define DRIVERUPGRADE_SRC_RUN_PASS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "decide/rollout/order.h"
#include "driverupgrade/attempt_log.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/gate.h"
#include "decide/incremental_planner.h"
#include "driverupgrade/node_outcome.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

// What a pass goes by that is not read from the cluster.
struct PassInput {
  const UpgradePolicy& policy;
  absl::Time active_since = absl::InfinitePast();
  std::optional<SharedSlots> shared_slots = std::nullopt;
  // Asked once what is known of the cluster is of one time: a pass may learn that the cluster was set back, and with it
  // the record.
  std::function<RolloutFacts()> rollout;
};

// So many nodes are worth a list of pods each. If more wait in an order that goes by pods, one list of all pods is.
inline constexpr std::size_t kPodListsMax = 10;
inline bool ReadsAllPods(const UpgradePolicy& policy, std::size_t nodes) {
  return nodes > kPodListsMax && policy.rollout && OrdersByPods(*policy.rollout);
}

// Not thread-safe.
class Pass {
 public:
  explicit Pass(StateMachine machine) : planner_(std::move(machine)) {}
  virtual ~Pass() = default;
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  // What became of the nodes whose requests have all been answered since the last call of this or of Carry.
  virtual std::vector<NodeOutcome> Collect(AttemptLog& log) = 0;
  // Reads, and says what is to be done now. Errors: those of reading.
  virtual absl::StatusOr<Plan> MakePlan(const CallContext& context, const PassInput& input, AttemptLog& log) = 0;
  // What `plan`, of the last MakePlan, has for these nodes is not to be done now: see IncrementalPlanner::Withhold.
  virtual void Withhold(const std::map<std::string, Gate>& gates, Plan& plan) = 0;
  // Begins with the requests of `plan`, and collects.
  virtual std::vector<NodeOutcome> Carry(const CallContext& context, const Plan& plan, AttemptLog& log) = 0;
  // As of the last MakePlan.
  virtual bool SeesDaemonSet() const = 0;
  // Empty for a node that is not managed.
  virtual std::string UidOf(const std::string& node) const = 0;

  std::shared_ptr<const PublishedPlan> Publish() { return planner_.Publish(); }
  std::uint64_t judgements() const { return planner_.judgements(); }

 protected:
  IncrementalPlanner& planner() { return planner_; }

 private:
  IncrementalPlanner planner_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_PASS_H_
