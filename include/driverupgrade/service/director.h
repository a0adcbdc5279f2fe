/// The part of an operator that is its own: where its policies come from, and what it does beside rolling the driver.
///
/// Defines EngineSpec, EngineProgress, EngineOptionsOf, Director and Doorbell.
///
///     class OnePolicy final : public Director {
///      public:
///       explicit OnePolicy(EngineSpec spec) : specs_({std::move(spec)}) {}
///       std::optional<std::vector<EngineSpec>> Wanted() override { return specs_; }
///
///      private:
///       const std::vector<EngineSpec> specs_;
///     };
///
/// The thread that steps the service calls the director, one call at a time; Ready is called by any thread. A director
/// outlives its service. Examples: examples/service, and the directors of examples/operators, which follow custom
/// resources.
#ifndef DRIVERUPGRADE_SERVICE_DIRECTOR_H_
#define DRIVERUPGRADE_SERVICE_DIRECTOR_H_

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/watch_cache.h"

namespace driverupgrade {

/// What one engine upgrades, and how.
struct EngineSpec {
  /// Whose nodes these are, if several engines share a driver's nodes: a DNS subdomain, for example the name of the
  /// custom resource with the policy. It stands in log lines, and names the engine's entry of the ledger. Empty: there
  /// is only one engine.
  std::string name = {};
  /// Of the driver's DaemonSets and their pods.
  LabelSelector driver_labels = {};
  /// The nodes of this engine. Engines of one service have no node in common. Empty: all nodes.
  LabelSelector node_selector = {};
  /// Follows the requestor's id, if the engine is a requestor: each engine is a requestor of its own.
  std::string requestor_suffix = {};
  UpgradePolicy policy = {};
  /// Custom resource that contains the policy, as `GROUP/VERSION/RESOURCE/NAME:PATH.TO.SECTION`. The service reports it to
  /// `upgradectl`, and does not read it. Empty: the policy is not in a custom resource.
  std::string policy_resource = {};
  friend bool operator==(const EngineSpec&, const EngineSpec&) = default;
};

/// How far an engine is, as its last pass found it.
struct EngineProgress {
  Tally totals = {};
  /// Of those that are pending, the ones that somebody wants to be passed over, as by the skip label; counted once no other
  /// node is under way.
  int left_out = 0;
  /// So many nodes have failed that no further one starts.
  bool halted = false;
  friend bool operator==(const EngineProgress&, const EngineProgress&) = default;
};

/// The options of one engine: what all have in common, and what is its own. A requestor's id that would be longer than 63
/// characters is shortened, with a hash of the whole. The service does it by itself; for who makes such an engine without
/// a service. Pure.
EngineOptions EngineOptionsOf(EngineOptions common, const EngineSpec& spec);

class Director {
 public:
  virtual ~Director() = default;

  /// The engines that are to run; nullopt: not known yet. Called at each step of the service, so the answer must be at
  /// hand: a director that learns something new rings the service's bell. A change of policies alone keeps the engines
  /// and what they remember; any other change makes all engines anew.
  virtual std::optional<std::vector<EngineSpec>> Wanted() = 0;

  /// Called when engines have been made anew, with those that could not be, by name, and why; the others run. An error
  /// ends the service: a director that tells of them where somebody looks, returns OK.
  virtual absl::Status OnRefused(const std::map<std::string, absl::Status>& refused) {
    return refused.empty() ? absl::OkStatus() : refused.begin()->second;
  }

  /// Whose nodes are to be given back (UpgradeEngine::Release), since their owner is gone; none of them is a node of an
  /// engine that is wanted. Called after Wanted by the replica that leads; each is gone through until nothing is left to
  /// give back, and again after it was absent from the answer.
  virtual std::vector<EngineSpec> Gone() { return {}; }

  /// What a person should know and no engine finds: nodes that have the driver and no owner, for instance. Called after
  /// Work; each code is logged once while it lasts, and each finding is counted in the metrics.
  virtual std::vector<Finding> Findings() { return {}; }

  /// What must have happened before an engine may act. Called while this replica leads, every few seconds until it
  /// succeeds. Errors: any; the service logs them, once each.
  virtual absl::Status Prepare(const CallContext&) { return absl::OkStatus(); }

  /// How far the engines are, by name; of those that have made a pass. Called before Work.
  virtual void OnProgress(const std::map<std::string, EngineProgress>& /*engines*/) {}

  /// Other work of the replica that leads; all of it within the context's deadline, by which another replica may lead.
  /// `cache`: of the engines that run, null if there are none; `scope`: the place in it of the first of
  /// ServiceOptions::more_scopes. Returns when to call again, unless the bell rings.
  virtual absl::Time Work(const CallContext&, WatchCache* /*cache*/, std::size_t /*scope*/) {
    return absl::InfiniteFuture();
  }

  /// For the readiness probe: OK, or what hinders the director. Thread-safe.
  virtual absl::Status Ready() const { return absl::OkStatus(); }
};

/// Wakes the service's loop: a director rings it when its policies change.
///
///     const auto bell = std::make_shared<Doorbell>();
///     watch.OnChange([bell] { bell->Ring(); });
///     while (!stop.stop_requested()) bell->Wait(Turn(), *clock, stop);
///
/// Thread-safe; one thread waits. A ring while no thread waits is not lost: the next wait returns immediately. Threads that
/// ring share the bell with the loop, so neither has to outlive the other.
class Doorbell {
 public:
  /// Wakes the waiting thread, or the next one that waits.
  void Ring();

  /// Until `until` by `clock`, a ring or a stop; in real time. Returns early after a minute.
  void Wait(absl::Time until, const Clock& clock, const std::stop_token& stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool rung_ = false;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SERVICE_DIRECTOR_H_
