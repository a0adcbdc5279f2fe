// A pass that reads from a cache: it looks again at what has changed, and at nothing else (arch-A10).
#ifndef DRIVERUPGRADE_SRC_RUN_CACHE_PASS_H_
#define DRIVERUPGRADE_SRC_RUN_CACHE_PASS_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "write/plan_executor.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/watch_cache.h"
#include "read/view_maker.h"
#include "run/ledger_pass.h"
#include "run/pass.h"

namespace driverupgrade::internal {

class CachePass final : public Pass {
 public:
  // `driver`: the place of our scope in the cache's options. `call_timeout`: of what a pass waits for. `nodes_per_pass`:
  // see EngineOptions. `ledger`: nullptr for none. The ledger and `executor` outlive this, but for the executor's threads,
  // which end before. `on_change` is called, from any thread, when the next pass has something to look at.
  CachePass(const DriverIdentity& identity, StateMachine machine, const SnapshotOptions& options,
            std::shared_ptr<Clock> clock, std::shared_ptr<WatchCache> cache, std::size_t driver,
            absl::Duration call_timeout, std::size_t nodes_per_pass, LedgerPass* ledger, PlanExecutor& executor,
            std::function<void()> on_change);
  ~CachePass() override;

  std::vector<NodeOutcome> Collect(AttemptLog& log) override;
  // Its gates are those that have changed. Errors: Unavailable until the cache has read everything once, and while it
  // cannot follow; those of reading revisions.
  absl::StatusOr<Plan> MakePlan(const CallContext& context, const PassInput& input, AttemptLog& log) override;
  void Withhold(const std::map<std::string, Gate>& gates, Plan& plan) override;
  // Does not wait for the answers.
  std::vector<NodeOutcome> Carry(const CallContext& context, const Plan& plan, AttemptLog& log) override;
  bool SeesDaemonSet() const override { return !daemon_sets_.empty(); }
  std::string UidOf(const std::string& node) const override;

 private:
  void WithholdUnread(Plan& plan);
  // A node whose requests are not all answered gets no others, and what it waits for is no news. One whose pods are being
  // read may need fewer patches when they are known.
  void LeaveOutInFlight(Plan& plan);
  void NoteChanges(const CallContext& context, absl::Time now, AttemptLog& log);
  // Looks at nodes that may have changed, in turn, and leaves what is too much for a pass.
  void RefreshTouched(const CallContext& context, AttemptLog& log);
  void TouchManaged();
  // The pods of these nodes, and of no others, are followed from here on.
  void FollowPods(std::set<std::string> interest);
  Plan Advance(absl::Time now);
  absl::Status ReadDriver(const CallContext& context);
  void Refresh(const CallContext& context, const std::string& node, AttemptLog& log);
  void Forget(const std::string& node, AttemptLog& log);
  void KeepManaged(AttemptLog& log) const;
  // Begins to read the pods that are wanted and not known, and does not wait for them.
  void ReadPods(const CallContext& context, const UpgradePolicy& policy, const std::set<std::string>& wanted);
  // A callback or a list has failed: the node is looked at again, whether something changes or not.
  void LookAgain(const std::string& node, absl::Time now);
  // Looks at the nodes whose pods have been read since the last call; whether there are any.
  bool TakePods(const CallContext& context, absl::Time now, AttemptLog& log);

  const SnapshotOptions options_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<WatchCache> cache_;
  const std::size_t driver_;
  LedgerPass* const ledger_;
  PlanExecutor& executor_;
  const std::function<void()> on_change_;
  ViewMaker views_;
  DriverParts parts_;
  std::vector<DaemonSet> daemon_sets_;
  std::map<std::string, ControllerRevision> revisions_;  // by name, as a list had them
  bool driver_stale_ = true;
  std::set<std::string> written_;  // nodes whose requests have begun or are answered, since the last pass
  std::set<std::string> touched_;
  std::string touched_at_;  // the last that was taken: whoever changes often must not keep the others waiting
  std::map<std::string, std::string> managed_;            // UIDs by name
  std::map<std::string, std::vector<Finding>> findings_;  // by node
  struct Retry {
    std::optional<absl::Time> due = std::nullopt;  // nullopt: it is being tried
    int failures = 0;
  };
  std::map<std::string, Retry> retries_;  // by node
  absl::Time now_ = absl::InfinitePast();
  std::set<std::string> interest_;  // nodes whose pods are followed
  std::set<std::string> reading_;  // nodes whose pods are being read
  const absl::Duration call_timeout_;
  const std::size_t nodes_per_pass_;
  std::mutex mutex_;
  std::map<std::string, absl::Status> read_;  // how it went; guarded by mutex_
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_CACHE_PASS_H_
