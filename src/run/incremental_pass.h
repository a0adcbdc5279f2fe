// One pass of an engine that has a cache: looks again at what has changed, and at nothing else (arch-A10).
#ifndef DRIVERUPGRADE_SRC_RUN_INCREMENTAL_PASS_H_
#define DRIVERUPGRADE_SRC_RUN_INCREMENTAL_PASS_H_

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
#include "driverupgrade/incremental_planner.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/watch_cache.h"
#include "read/view_maker.h"
#include "run/ledger_pass.h"

namespace driverupgrade::inline v1::internal {

// Not thread-safe.
class IncrementalPass {
 public:
  // Makes a call when its turn has come, on any thread, with the context bounded.
  using Submit = std::function<void(const CallContext&, std::function<void(const CallContext&)>)>;

  // `driver`: the place of our scope in the cache's options. `call_timeout`: of what a pass waits for. `submit`: for
  // what it does not; its calls end before this does. `ledger`: nullptr for none; it outlives this. `on_read` is
  // called, from any thread, when pods have been read that the next pass is to look at.
  IncrementalPass(const DriverIdentity& identity, StateMachine machine, const SnapshotOptions& options,
                  std::shared_ptr<WatchCache> cache, std::size_t driver, absl::Duration call_timeout, Submit submit,
                  LedgerPass* ledger, std::function<void()> on_read);

  // For the next Run.
  void SetSharedSlots(const std::optional<SharedSlots>& shared) { planner_.SetSharedSlots(shared); }
  // Errors: Unavailable until the cache has read everything once, and while it cannot follow; those of reading
  // revisions.
  absl::StatusOr<Plan> Run(const CallContext& context, const UpgradePolicy& policy, absl::Time now,
                           absl::Time active_since, AttemptLog& log);
  // What `plan`, of the last Run, has for these nodes is not to be done now: see IncrementalPlanner::Withhold.
  void Withhold(const std::map<std::string, Gate>& gates, Plan& plan);
  // Something was asked for on the node: the next pass looks at it again.
  void Touch(const std::string& node) { touched_.insert(node); }
  // The pods of the node are being read: what it needs is known soon.
  bool IsReading(const std::string& node) const { return reading_.contains(node); }
  const IncrementalPlanner& planner() const { return planner_; }
  // Empty for a node that is not managed.
  std::string UidOf(const std::string& node) const {
    const auto found = managed_.find(node);
    return found == managed_.end() ? std::string() : found->second;
  }

 private:
  void NoteChanges(const CallContext& context, absl::Time now, AttemptLog& log);
  void TouchManaged();
  Plan Advance(absl::Time now);
  absl::Status ReadDriver(const CallContext& context);
  void Refresh(const CallContext& context, const std::string& node, AttemptLog& log);
  void Forget(const std::string& node, AttemptLog& log);
  void KeepManaged(AttemptLog& log) const;
  // Begins to read the pods that are wanted and not known, and does not wait for them.
  void ReadPods(const CallContext& context, const std::vector<std::string>& interest);
  // A callback or a list has failed: the node is looked at again, whether something changes or not.
  void LookAgain(const std::string& node, absl::Time now);
  // Looks at the nodes whose pods have been read since the last call; whether there are any.
  bool TakePods(const CallContext& context, absl::Time now, AttemptLog& log);

  const SnapshotOptions options_;
  const std::shared_ptr<WatchCache> cache_;
  const std::size_t driver_;
  LedgerPass* const ledger_;
  ViewMaker views_;
  IncrementalPlanner planner_;
  DriverParts parts_;
  std::vector<DaemonSet> daemon_sets_;
  std::map<std::string, ControllerRevision> revisions_;  // by name, as a list had them
  bool driver_stale_ = true;
  std::set<std::string> touched_;
  std::map<std::string, std::string> managed_;            // UIDs by name
  std::map<std::string, std::vector<Finding>> findings_;  // by node
  struct Retry {
    std::optional<absl::Time> due = std::nullopt;  // nullopt: it is being tried
    int failures = 0;
  };
  std::map<std::string, Retry> retries_;  // by node
  absl::Time now_ = absl::InfinitePast();
  std::set<std::string> reading_;  // nodes whose pods are being read
  const absl::Duration call_timeout_;
  const Submit submit_;
  const std::function<void()> on_read_;
  std::mutex mutex_;
  std::map<std::string, absl::Status> read_;  // how it went; guarded by mutex_
};

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_RUN_INCREMENTAL_PASS_H_
