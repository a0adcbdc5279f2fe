/// The operator-specific part of a service: provides the policies, and does all of the operator's work besides driver
/// upgrades.
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
/// The director is called by the thread that steps the service, one call at a time, except Ready, which any thread may
/// call. A director outlives its service. Examples: examples/service, and the directors of examples/operators, which
/// follow custom resources.
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

/// One engine's scope and policy.
struct EngineSpec {
  /// Owner of this engine's nodes, if several engines share a driver's nodes: a DNS subdomain, for example the name of
  /// the custom resource with the policy. The name appears in log lines and in the key of the engine's ledger entry.
  /// Empty: there is only one engine.
  std::string name = {};
  /// Labels of the driver's DaemonSets and their pods.
  LabelSelector driver_labels = {};
  /// The nodes of this engine. No two engines of a service may have a node in common. Empty: all nodes.
  LabelSelector node_selector = {};
  /// Appended to the requestor's id, if the engine is a requestor, because each engine is a separate requestor.
  std::string requestor_suffix = {};
  UpgradePolicy policy = {};
  /// Custom resource that contains the policy, as `GROUP/VERSION/RESOURCE/NAME:PATH.TO.SECTION`. The service reports
  /// this location to `upgradectl`, and does not read the resource. Empty: the policy is not in a custom resource.
  std::string policy_resource = {};
  friend bool operator==(const EngineSpec&, const EngineSpec&) = default;
};

/// Progress of an engine as of its last pass.
struct EngineProgress {
  Tally totals = {};
  /// Number of pending nodes that an administrator has excluded, for example with the skip label. Counted only while no
  /// node is moving (Tally::Moving); otherwise 0.
  int left_out = 0;
  /// True if no more nodes start because too many nodes have failed.
  bool halted = false;
  friend bool operator==(const EngineProgress&, const EngineProgress&) = default;
};

/// Returns the options of one engine: the common options, supplemented by its spec. A requestor's id of more than 63
/// characters is shortened, and ends with a hash of the whole id. Called by the service; call it yourself to create
/// such an engine without a service. Pure.
EngineOptions EngineOptionsOf(EngineOptions common, const EngineSpec& spec);

class Director {
 public:
  virtual ~Director() = default;

  /// Returns the engines that should run; nullopt: not known yet. Called in each step of the service, so it must return
  /// quickly. If a director learns of a change, it must ring the service's bell. If only policies change, the engines
  /// and their state are kept; any other change recreates all engines.
  virtual std::optional<std::vector<EngineSpec>> Wanted() = 0;

  /// Called when engines have been recreated, with the errors of the engines that could not be created, by name. The
  /// other engines run. If this method returns an error, the service exits; return OK if the errors are reported
  /// elsewhere.
  virtual absl::Status OnRefused(const std::map<std::string, absl::Status>& refused) {
    return refused.empty() ? absl::OkStatus() : refused.begin()->second;
  }

  /// Returns the specs whose nodes must be released (UpgradeEngine::Release) because their owner was deleted. None of
  /// these nodes may belong to a wanted engine. Called by the leading replica, after Wanted. Each spec is processed
  /// until nothing is left to release, and again only after it has been absent from the result.
  virtual std::vector<EngineSpec> Gone() { return {}; }

  /// Returns findings that no engine can detect, for example nodes that have the driver but no owner. Called after
  /// Work. Each code is logged when it first appears, and again only if it disappears and returns. The metrics count
  /// all findings.
  virtual std::vector<Finding> Findings() { return {}; }

  /// Prepares everything that an engine needs before it may act. Called while this replica leads, every few seconds
  /// until it succeeds. May return any error, which the service logs only if it differs from the previous error.
  virtual absl::Status Prepare(const CallContext&) { return absl::OkStatus(); }

  /// Receives the progress of each engine whose last pass succeeded, by engine name. Called before Work.
  virtual void OnProgress(const std::map<std::string, EngineProgress>& /*engines*/) {}

  /// Does the leading replica's other work. It must finish within the context's deadline, because another replica may
  /// lead afterwards. `cache`: the cache of the running engines, null without engines; `scope`: the cache's index for
  /// the first entry of ServiceOptions::more_scopes. Returns the time of the next call; if the bell rings, the next
  /// call is earlier.
  virtual absl::Time Work(const CallContext&, WatchCache* /*cache*/, std::size_t /*scope*/) {
    return absl::InfiniteFuture();
  }

  /// Returns OK, or the problem that blocks the director, for the readiness probe. Thread-safe.
  virtual absl::Status Ready() const { return absl::OkStatus(); }
};

/// Wakes the service's loop. A director rings the bell when its policies change.
///
///     const auto bell = std::make_shared<Doorbell>();
///     watch.OnChange([bell] { bell->Ring(); });
///     while (!stop.stop_requested()) bell->Wait(Turn(), *clock, stop);
///
/// Thread-safe; one thread waits. A ring is not lost if no thread is waiting: the next wait then returns immediately.
/// The loop and the threads that ring share ownership of the bell, so that neither must outlive the other.
class Doorbell {
 public:
  /// Wakes the waiting thread, or the next thread that waits.
  void Ring();

  /// Waits in real time until `clock` reaches `until`, the bell rings, or a stop is requested, but for at most a
  /// minute.
  void Wait(absl::Time until, const Clock& clock, const std::stop_token& stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool rung_ = false;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SERVICE_DIRECTOR_H_
