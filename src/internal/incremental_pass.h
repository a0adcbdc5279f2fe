// One pass of an engine that has a cache: looks again at what has changed, and at nothing else (arch-A10).
#ifndef DRIVERUPGRADE_SRC_INTERNAL_INCREMENTAL_PASS_H_
#define DRIVERUPGRADE_SRC_INTERNAL_INCREMENTAL_PASS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/incremental_planner.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/watch_cache.h"
#include "internal/ledger_pass.h"
#include "internal/view_maker.h"
#include "internal/worker_pool.h"

namespace driverupgrade::inline v1::internal {

// Not thread-safe.
class IncrementalPass {
 public:
  // `driver`: the place of our scope in the cache's options. `calls_in_flight`: for reading pods. `ledger`: nullptr for
  // none; it outlives this.
  IncrementalPass(const DriverIdentity& identity, StateMachine machine, const SnapshotOptions& options,
                  std::shared_ptr<WatchCache> cache, std::size_t driver, int calls_in_flight, LedgerPass* ledger);

  // Errors: Unavailable until the cache has read everything once; those of reading revisions.
  absl::StatusOr<Plan> Run(const CallContext& context, const UpgradePolicy& policy, absl::Time now,
                           absl::Time active_since, AttemptLog& log);
  // What `plan`, of the last Run, has for these nodes is not to be done now: see IncrementalPlanner::Withhold.
  void Withhold(const std::map<std::string, Gate>& gates, Plan& plan);
  // Something was asked for on the node: the next pass looks at it again.
  void Touch(const std::string& node) { touched_.insert(node); }
  const IncrementalPlanner& planner() const { return planner_; }

 private:
  Plan Advance(absl::Time now);
  absl::Status ReadDriver(const CallContext& context);
  void Refresh(const CallContext& context, const std::string& node, AttemptLog& log);
  void Forget(const std::string& node, AttemptLog& log);
  // Whether pods of some node have become known.
  bool ReadPods(const CallContext& context, const std::vector<std::string>& interest, absl::Time now, AttemptLog& log);

  const SnapshotOptions options_;
  const std::shared_ptr<WatchCache> cache_;
  const std::size_t driver_;
  LedgerPass* const ledger_;
  ViewMaker views_;
  IncrementalPlanner planner_;
  WorkerPool readers_;
  DriverParts parts_;
  std::vector<DaemonSet> daemon_sets_;
  std::map<std::string, ControllerRevision> revisions_;  // by name, as a list had them
  bool driver_stale_ = true;
  std::set<std::string> touched_;
  std::map<std::string, std::string> managed_;            // UIDs by name
  std::map<std::string, std::vector<Finding>> findings_;  // by node
  std::map<std::string, absl::Time> next_read_;           // of pods that could not be read
};

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_INTERNAL_INCREMENTAL_PASS_H_
