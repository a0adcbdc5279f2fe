/// The engines of one driver: one, or one for each owner of nodes, on one cache, stepped one after the other.
///
/// Defines GroupOptions and EngineGroup.
///
///     auto group = EngineGroup::Create(options, specs);
///     (*group)->Start();
///     while (!stop.stop_requested()) bell->Wait((*group)->Step({.stop = stop}), *clock, stop);
///
/// Step, SetPolicies and Quiesce are called by one thread; the rest by any.
#ifndef DRIVERUPGRADE_SRC_SERVICE_ENGINE_GROUP_H_
#define DRIVERUPGRADE_SRC_SERVICE_ENGINE_GROUP_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/metrics_snapshot.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/service/director.h"
#include "driverupgrade/service/upgrade_service.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "service/parallel_share.h"
#include "service/rollout_board.h"

namespace driverupgrade::internal {

/// Whether the same engines run, whatever their policies: then a group need not be made anew.
bool SameEngines(const std::vector<EngineSpec>& a, const std::vector<EngineSpec>& b);

struct GroupOptions {
  DriverIdentity identity;
  std::shared_ptr<ClusterFacade> cluster = nullptr;
  /// What all engines have in common. In its ledger each has an entry of its own: grants of one are nothing to another.
  EngineOptions engine = {};
  /// More for the cache, after the engines' own.
  std::vector<DriverScope> more_scopes = {};
  /// Nodes in progress at once over all engines; nullopt: no limit beyond their own.
  std::optional<int> parallel_total = std::nullopt;
  std::shared_ptr<LeaderElection> election = nullptr;
  std::shared_ptr<Doorbell> bell = nullptr;
  LogSink log = nullptr;
  /// Null: the rollout is not shown.
  std::shared_ptr<RolloutBoard> board = nullptr;
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// One engine with its figures, for as long as the process runs: counters outlive the engine.
using FiguresByName = std::map<std::string, std::shared_ptr<MetricsObserver>>;

class EngineGroup {
 public:
  /// `figures`: of engines that ran before; gets those of the new ones. An engine whose options cannot work is left out:
  /// see refused(). Errors: of what all have in common.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<EngineGroup>> Create(const GroupOptions& options,
                                                                           std::vector<EngineSpec> specs,
                                                                           FiguresByName& figures);
  ~EngineGroup();

  /// The cache begins to follow the cluster, by threads. Not called where somebody turns the cache (a test).
  void Start();
  /// Policies of the same engines, by place.
  void SetPolicies(const std::vector<EngineSpec>& specs);
  /// What is due of every engine. Returns when to call again, unless the bell rings.
  absl::Time Step(const CallContext& context);
  /// Waits for what is under way, and ends the cache. Step may not follow.
  void Quiesce();

  /// Those that could not be made, by name, and why.
  const std::map<std::string, absl::Status>& refused() const { return refused_; }
  /// All that were asked for.
  const std::vector<EngineSpec>& specs() const { return specs_; }
  WatchCache& cache() const { return *cache_; }
  /// Of all engines.
  Tally totals() const;
  /// Returns the status of each engine, by name.
  std::map<std::string, FleetStatus> Statuses() const;
  /// Of those that have made a pass, by name.
  std::map<std::string, EngineProgress> Progress() const;
  /// No pass has failed since the last good one, of any engine.
  bool AllWell() const;
  /// nullopt: something is left to do, now or by waiting.
  std::optional<RolloutEnd> End() const;
  absl::Status Healthy() const;
  absl::Status Ready() const;

 private:
  struct Member {
    std::size_t place = 0;  // in specs_: of those that are refused there is no member
    std::shared_ptr<SlotObserver> slots = nullptr;
    std::unique_ptr<UpgradeEngine> engine = nullptr;
    std::unique_ptr<UpgradeController> controller = nullptr;
    // The limit by which its last pass was made.
    std::optional<SharedSlots> shared = std::nullopt;
  };

  EngineGroup(const GroupOptions& options, std::vector<EngineSpec> specs);
  absl::Status AddMember(std::size_t place, FiguresByName& figures);
  const EngineSpec& SpecOf(const Member& member) const { return specs_[member.place]; }
  // The limit over all engines as member `i` is to see it.
  SharedSlots SharedSlotsFor(std::size_t i) const;
  // Calls for a pass of member `i` if the slots that the others leave are not those that its last pass saw.
  bool TellOfOthers(std::size_t i);

  const GroupOptions options_;
  std::vector<EngineSpec> specs_;
  std::map<std::string, absl::Status> refused_;
  std::shared_ptr<WatchCache> cache_;
  std::vector<Member> members_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_ENGINE_GROUP_H_
