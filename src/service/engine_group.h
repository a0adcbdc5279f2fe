/// Runs the engines of one driver, one for each owner of nodes. The engines share a cache and are stepped in sequence.
///
/// Defines GroupOptions and EngineGroup.
///
///     auto group = EngineGroup::Create(options, specs);
///     (*group)->Start();
///     while (!stop.stop_requested()) bell->Wait((*group)->Step({.stop = stop}), *clock, stop);
///
/// Step, SetPolicies and Quiesce must be called by one thread; all other functions may be called by any thread.
#ifndef DRIVERUPGRADE_SRC_SERVICE_ENGINE_GROUP_H_
#define DRIVERUPGRADE_SRC_SERVICE_ENGINE_GROUP_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/service/director.h"
#include "driverupgrade/service/upgrade_service.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "service/parallel_share.h"
#include "service/rollout_board.h"

namespace driverupgrade::internal {

/// Returns true if `a` and `b` request the same engines, regardless of the engines' policies. If so, the group need not
/// be recreated.
bool SameEngines(const std::vector<EngineSpec>& a, const std::vector<EngineSpec>& b);

struct GroupOptions {
  DriverIdentity identity;
  std::shared_ptr<ClusterFacade> cluster = nullptr;
  /// Options that all engines have in common. Each engine has its own ledger entry and ignores the grants of other
  /// engines.
  EngineOptions engine = {};
  /// Additional scopes for the cache, after the scopes of the engines.
  std::vector<DriverScope> more_scopes = {};
  /// Maximum number of nodes in progress at the same time across all engines; nullopt: only the engines' own limits
  /// apply.
  std::optional<int> parallel_total = std::nullopt;
  std::shared_ptr<LeaderElection> election = nullptr;
  std::shared_ptr<Doorbell> bell = nullptr;
  LogSink log = nullptr;
  /// Null: no page shows the rollout.
  std::shared_ptr<RolloutBoard> board = nullptr;
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// The metrics of each engine, by name. Metrics are kept as long as the process runs, so counters outlive their engine.
using FiguresByName = std::map<std::string, std::shared_ptr<MetricsObserver>>;

class EngineGroup {
 public:
  /// `figures`: metrics of engines that ran before; the metrics of new engines are added. If an engine cannot be
  /// created with its options, it is left out; see refused(). Errors: the errors of the common options.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<EngineGroup>> Create(const GroupOptions& options,
                                                                           std::vector<EngineSpec> specs,
                                                                           FiguresByName& figures);
  ~EngineGroup();

  /// Starts to follow the cluster, on the cache's threads. A test that runs the watches itself (WatchCache::Turn) does
  /// not call this function.
  void Start();
  /// Sets the policies of the engines. `specs` must contain the same engines in the same order.
  void SetPolicies(const std::vector<EngineSpec>& specs);
  /// Performs the work that is due for all engines. Returns the time at which to call again unless the bell rings
  /// earlier.
  absl::Time Step(const CallContext& context);
  /// Waits for work in progress, and stops the cache. Step must not be called afterwards.
  void Quiesce();

  /// Errors of the engines that could not be created, by name.
  const std::map<std::string, absl::Status>& refused() const { return refused_; }
  /// Specs of all requested engines.
  const std::vector<EngineSpec>& specs() const { return specs_; }
  WatchCache& cache() const { return *cache_; }
  Tally totals() const;
  /// Returns the status of each engine, by name.
  std::map<std::string, FleetStatus> Statuses() const;
  /// Returns the progress of the engines that have made a pass, by name.
  std::map<std::string, EngineProgress> Progress() const;
  /// Returns true if no engine's last pass failed.
  bool AllWell() const;
  /// Returns the end of the rollout; nullopt while there is still work to do.
  std::optional<RolloutEnd> End() const;
  absl::Status Healthy() const;
  absl::Status Ready() const;

 private:
  struct Member {
    std::size_t place = 0;  // index in specs_; refused engines have no member
    std::shared_ptr<SlotObserver> slots = nullptr;
    std::unique_ptr<UpgradeEngine> engine = nullptr;
    std::unique_ptr<UpgradeController> controller = nullptr;
    // The shared limit that applied to the engine's last pass.
    std::optional<SharedSlots> shared = std::nullopt;
  };

  EngineGroup(const GroupOptions& options, std::vector<EngineSpec> specs);
  absl::Status AddMember(std::size_t place, FiguresByName& figures);
  const EngineSpec& SpecOf(const Member& member) const { return specs_[member.place]; }
  // Returns the limit that all engines share, from the perspective of member `i`.
  SharedSlots SharedSlotsFor(std::size_t i) const;
  // Requests a pass of member `i` if the number of slots that the other members leave free has changed since that
  // member's last pass. Returns true if a pass was requested.
  bool TellOfOthers(std::size_t i);

  const GroupOptions options_;
  std::vector<EngineSpec> specs_;
  std::map<std::string, absl::Status> refused_;
  std::shared_ptr<WatchCache> cache_;
  std::vector<Member> members_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_ENGINE_GROUP_H_
