/// The engines of one driver: one, or one for each owner of nodes, on one cache, stepped one after the other.
///
/// Defines EngineSpec, GroupOptions and EngineGroup.
///
///     auto group = EngineGroup::Create(options, specs);
///     (*group)->Start();
///     while (!stop.stop_requested()) bell->Wait((*group)->Step({.stop = stop}), *clock, stop);
///
/// Step, SetPolicies and Quiesce are called by one thread; the rest by any.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_ENGINE_GROUP_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_ENGINE_GROUP_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/leader_election.h"
#include "driverupgrade/log_sink.h"
#include "driverupgrade/metrics_snapshot.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "support/doorbell.h"
#include "support/parallel_share.h"

namespace examples {

/// What one engine upgrades, and how.
struct EngineSpec {
  /// Whose nodes these are; empty: there is only one engine.
  std::string name = {};
  driverupgrade::LabelSelector driver_labels = {};
  driverupgrade::LabelSelector node_selector = {};
  /// Follows the requestor's id, if the engine is one.
  std::string requestor_suffix = {};
  driverupgrade::UpgradePolicy policy = {};
  friend bool operator==(const EngineSpec&, const EngineSpec&) = default;
};

/// The options of one engine: what all have in common, and what is its own.
driverupgrade::EngineOptions EngineOptionsOf(driverupgrade::EngineOptions common, const EngineSpec& spec);

/// Whether the same engines run, whatever their policies: then a group need not be made anew.
bool SameEngines(const std::vector<EngineSpec>& a, const std::vector<EngineSpec>& b);

struct GroupOptions {
  driverupgrade::DriverIdentity identity;
  std::shared_ptr<driverupgrade::ClusterFacade> cluster = nullptr;
  /// What all engines have in common. In its ledger each has an entry of its own: grants of one are nothing to another.
  driverupgrade::EngineOptions engine = {};
  /// More for the cache, after the engines' own.
  std::vector<driverupgrade::DriverScope> more_scopes = {};
  /// Nodes in progress at once over all engines; nullopt: no limit beyond their own.
  std::optional<int> parallel_total = std::nullopt;
  std::shared_ptr<driverupgrade::LeaderElection> election = nullptr;
  std::shared_ptr<Doorbell> bell = nullptr;
  driverupgrade::LogSink log = nullptr;
  /// Null: SystemClock().
  std::shared_ptr<driverupgrade::Clock> clock = nullptr;
};

/// What a rollout has come to when nothing more happens in it unless a person does something.
struct RolloutEnd {
  /// Nodes that somebody has left out: by the skip label, or by a cordon that the policy minds.
  int left_out = 0;
  /// Nodes of engines whose autoUpgrade is off. Nobody has looked whether their drivers are the newest.
  int frozen = 0;
  driverupgrade::Tally totals = {};
  /// Every node has the newest driver, but for those that somebody has left out.
  bool IsGood() const { return frozen == 0 && totals.done + left_out == totals.total; }
  friend bool operator==(const RolloutEnd&, const RolloutEnd&) = default;
};

/// One engine with its figures, for as long as the process runs: counters outlive the engine.
using FiguresByName = std::map<std::string, std::shared_ptr<driverupgrade::MetricsObserver>>;

class EngineGroup {
 public:
  /// `figures`: of engines that ran before; gets those of the new ones. Errors: those of options that cannot work.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<EngineGroup>> Create(const GroupOptions& options,
                                                                           std::vector<EngineSpec> specs,
                                                                           FiguresByName& figures);
  ~EngineGroup();

  /// The cache begins to follow the cluster, by threads. Not called where somebody turns the cache (a test).
  void Start();
  /// Policies of the same engines, by place.
  void SetPolicies(const std::vector<EngineSpec>& specs);
  /// What is due of every engine. Returns when to call again, unless the bell rings.
  absl::Time Step(const driverupgrade::CallContext& context);
  /// Waits for what is under way, and ends the cache. Step may not follow.
  void Quiesce();

  const std::vector<EngineSpec>& specs() const { return specs_; }
  driverupgrade::WatchCache& cache() const { return *cache_; }
  /// Of all engines.
  driverupgrade::Tally totals() const;
  /// No pass has failed since the last good one, of any engine.
  bool AllWell() const;
  /// nullopt: something is left to do, now or by waiting.
  std::optional<RolloutEnd> End() const;
  absl::Status Healthy() const;
  absl::Status Ready() const;

 private:
  struct Member {
    std::shared_ptr<SlotObserver> slots = nullptr;
    std::unique_ptr<driverupgrade::UpgradeEngine> engine = nullptr;
    std::unique_ptr<driverupgrade::UpgradeController> controller = nullptr;
    std::optional<driverupgrade::UpgradePolicy> given = std::nullopt;
    absl::Status reported = absl::OkStatus();
  };

  EngineGroup(const GroupOptions& options, std::vector<EngineSpec> specs);
  absl::Status AddMember(const EngineSpec& spec, FiguresByName& figures);
  // Whether it is another one than before.
  bool GivePolicy(std::size_t i);
  void ReportFailure(std::size_t i);

  const GroupOptions options_;
  std::vector<EngineSpec> specs_;
  std::shared_ptr<driverupgrade::WatchCache> cache_;
  std::vector<Member> members_;
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_ENGINE_GROUP_H_
