/// Runs an engine for good: when something changes, when a deadline says so, and after errors with patience.
///
/// Defines UpgradeController, ControllerOptions and ControllerStatus.
///
///     UpgradeController controller(*engine, cache, {});
///     controller.SetPolicy(policy);
///     controller.Run(stop);  // until `stop` is requested
///
/// Run is a loop around Step, which never waits: who has a loop of his own, or a virtual clock, calls Step.
///
/// Its engine's observer hears of trouble, of leadership, and when a rollout is over.
///
/// Who steps several controllers in one loop hears by ControllerOptions::on_change when Step is worth a call.
///
/// SetPolicy, Notify and the readers may be called from any thread; Run and Step from one.
#ifndef DRIVERUPGRADE_UPGRADE_CONTROLLER_H_
#define DRIVERUPGRADE_UPGRADE_CONTROLLER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/leader_election.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/watch_cache.h"

namespace driverupgrade {

namespace internal {
class RolloutOver;
}  // namespace internal

struct ControllerOptions {
  /// A burst of changes costs one pass: at least this lies between the beginnings of two.
  absl::Duration passes_apart = absl::Milliseconds(5);
  /// After a pass that could not be made; doubles up to `retry_max` while it goes on.
  absl::Duration retry_first = absl::Seconds(1);
  absl::Duration retry_max = absl::Minutes(1);
  /// For one pass. A stop ends it early.
  absl::Duration pass_timeout = absl::Minutes(2);
  /// Without a cache nothing tells of changes: a pass at least so often.
  absl::Duration poll_interval = absl::Seconds(5);
  /// Called when Step may have something to do before the time that it returned: after SetPolicy and Notify, when the
  /// cache has news, when requests have been answered. By any thread; it must not call the controller. Null: nobody.
  std::function<void()> on_change = nullptr;
  /// Null: there is only one replica. Otherwise passes are made only while this leads.
  std::shared_ptr<LeaderElection> election = nullptr;
};

struct ControllerStatus {
  bool leading = false;
  /// When the last pass ended that failed or finished (Plan::finished); nullopt before the first.
  std::optional<absl::Time> last_pass = std::nullopt;
  /// Of the last pass, or what hinders the cache from being read.
  absl::Status last_error = absl::OkStatus();
  Tally totals = {};
  int passes = 0;
};

class UpgradeController {
 public:
  /// `engine` outlives the controller, and nobody else calls its Reconcile or OnChange, which it takes for itself.
  /// `cache` is the engine's, or null.
  UpgradeController(UpgradeEngine& engine, std::shared_ptr<WatchCache> cache, ControllerOptions options);
  ~UpgradeController();

  /// Until the first one nothing is done. Another one is tried at once, whatever became of the last.
  void SetPolicy(UpgradePolicy policy);
  /// Something has changed that the cache does not know of.
  void Notify();

  /// What is due: a try to lead, a pass. Returns when to call again, unless Notify comes first; `now` for at once.
  absl::Time Step(const CallContext& context);
  /// Waits until `until`, as Step returned it, until Notify comes where that matters, or until a stop is requested; in
  /// real time.
  void Wait(absl::Time until, const std::stop_token& stop);
  /// Ends: waits for requests and Events under way, and gives the lease back. Step may not follow.
  void Stop();
  /// Steps until `stop` is requested, then stops. Returns within the time of a call.
  void Run(std::stop_token stop);

  ControllerStatus status() const;
  /// OK while the loop turns: for a liveness probe. Not OK when a pass has been running for twice its time.
  absl::Status Healthy() const;
  /// OK once the cache has read everything, and a pass has succeeded since or another replica leads: for a readiness
  /// probe.
  absl::Status Ready() const;

 private:
  void NoteTime(absl::Time now);
  absl::Time StepOnce(const CallContext& context);
  bool Lead(const CallContext& context, absl::Time& next);
  absl::Time Pass(const CallContext& context, const UpgradePolicy& policy, absl::Time now);
  absl::Status CacheTrouble() const;
  absl::Status Trouble() const;
  void Tell();

  UpgradeEngine& engine_;
  const std::shared_ptr<WatchCache> cache_;
  const ControllerOptions options_;
  const std::shared_ptr<Clock> clock_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<UpgradePolicy> policy_;
  bool notified_ = true;
  ControllerStatus status_;
  std::optional<absl::Time> pass_began_;
  absl::Time looked_at_ = absl::InfinitePast();
  std::int64_t term_ = 0;
  int failures_ = 0;
  absl::Time not_before_ = absl::InfinitePast();  // whatever changes
  absl::Time due_ = absl::InfinitePast();         // even if nothing changes

  // Of the thread that steps.
  absl::Status told_trouble_ = absl::OkStatus();
  bool told_leading_ = false;
  const std::unique_ptr<internal::RolloutOver> rollout_over_;
  bool rollout_ended_ = false;  // in this step
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_CONTROLLER_H_
