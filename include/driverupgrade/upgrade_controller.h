/// Runs an engine continuously, in one process or in several replicas. A pass starts when something changes or a
/// deadline expires. Failed passes are repeated with increasing pauses.
///
/// Defines UpgradeController, ControllerOptions, ControllerStatus, LeaderElection and LeaderElectionOptions.
///
///     UpgradeController controller(*engine, cache, {});
///     controller.SetPolicy(policy);
///     controller.Run(stop);  // until `stop` is requested
///
/// Run is a loop around Step, which never waits. A program with its own loop, or with a virtual clock, calls Step
/// itself; if it steps several controllers in one loop, ControllerOptions::on_change reports when to call Step.
///
/// The engine's observer is notified of problems, leadership changes, and the end of a rollout.
///
/// Run and Step must be called by one thread; SetPolicy, Notify and the readers may be called by any thread.
#ifndef DRIVERUPGRADE_UPGRADE_CONTROLLER_H_
#define DRIVERUPGRADE_UPGRADE_CONTROLLER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/watch_cache.h"

namespace driverupgrade {

namespace internal {
class RolloutOver;
}  // namespace internal

struct LeaderElectionOptions {
  /// Namespace and name of the Lease. Replicas of which only one may act share a Lease.
  std::string ns = {};
  std::string name = {};
  /// Unique to this process, and never used by an earlier process: for example `<host name>_<uuid>`, as in
  /// controller-runtime.
  std::string identity = {};
  /// Time, in whole seconds, that the other replicas wait after the last renewal they have observed.
  absl::Duration lease_duration = absl::Seconds(15);
  /// Time for which the leader continues without a renewal. Work that is then in progress must finish before
  /// lease_duration has passed.
  absl::Duration renew_deadline = absl::Seconds(10);
  /// Time between two attempts to acquire or renew the Lease; candidates wait up to 2.2 times as long.
  absl::Duration retry_period = absl::Seconds(2);
  /// Randomizes the waits of candidates, together with `identity`.
  std::uint64_t seed = 0;
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// Leader election with a Lease, as in client-go. Step and Release must be called by one thread at a time; the other
/// functions may be called by any thread at any time.
///
///     auto election = LeaderElection::Create(
///         cluster, {.ns = "gpu-operator", .name = "driver-upgrade", .identity = host + "_" + uuid, .clock = clock});
///     while (!stopped) {
///       const absl::Time again = (*election)->Step(context);
///       if ((*election)->IsLeader()) { /* one pass, each of its calls with a deadline of at most LeadsUntil() */ }
///       ...  // sleep until `again`, or earlier for other reasons
///     }
///     (*election)->Release(context).IgnoreError();  // the next leader need not wait
///
/// LeaderElection has no thread of its own: it makes progress only when Step is called. Two replicas never believe at
/// the same time that they lead, provided that
/// - the faster of their clocks runs less than lease_duration / renew_deadline (1.5 by default) times as fast as the
///   slower one. Absolute times do not matter: a candidate measures expiry from the moment it saw the record change,
///   and a leader from a moment before it sent its last acknowledged renewal;
/// - clocks do not jump far between two readings, or jump at most once while a lease expires. A leader that notices
///   that its clock was set back stops leading until it has renewed. A candidate counts at most 2.2 x retry_period
///   between two readings, which with the defaults is less than the time between renew_deadline and lease_duration;
/// - the Lease is not deleted manually. Replicas that have seen the Lease would wait until it had expired, but a new
///   replica would not;
/// - every process has a unique identity.
///
/// A Lease does not fence off a former leader. Writes therefore have preconditions, and code must check IsLeader()
/// before irreversible actions.
class LeaderElection {
 public:
  /// Errors: InvalidArgument unless lease_duration > renew_deadline > 1.2 x retry_period > 0, lease_duration is in
  /// whole seconds, and no string is empty. Unimplemented, with the name of the operation, if `cluster` lacks a
  /// required operation.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LeaderElection>> Create(std::shared_ptr<ClusterFacade> cluster,
                                                                              LeaderElectionOptions options);

  /// Attempts to acquire or renew the Lease if an attempt is due (at most three calls, each bounded by half the renew
  /// deadline). Returns the time of the next call. An earlier call costs nothing; a later call delays a takeover, or
  /// ends this replica's leadership.
  absl::Time Step(const CallContext& context);

  /// Gives up leadership, if held, so that the other replicas need not wait. Call it once the guarded work has ended.
  /// If Step is called afterwards, its first attempt waits to give the other replicas precedence. IsLeader() is false
  /// from the start of this call, regardless of its result. Errors: the errors of the calls to the cluster; Release may
  /// then be called again.
  [[nodiscard]] absl::Status Release(const CallContext& context);

  /// Sets an annotation of the Lease, for other clients, while this replica leads. The annotation is written with the
  /// next regular write, so it costs no request. nullopt removes the annotation of an earlier leader; annotations that
  /// were never announced are kept. Leadership has priority: values that would exceed Kubernetes' annotation limit of
  /// 256 KiB are left out. If the server refuses a write with annotations, all of them are left out until another value
  /// is announced or leadership is gained again. Can be called from any thread.
  void Announce(const std::string& key, std::optional<std::string> value);

  /// Returns true if this replica leads at this moment. Call it before every action that only a leader may take.
  bool IsLeader() const;
  /// Returns the time, by this replica's clock, at which leadership ends unless it is renewed: the latest sensible
  /// deadline of a leader's call. nullopt: this replica does not lead.
  std::optional<absl::Time> LeadsUntil() const;
  /// Returns how many times leadership has been gained. If the number changes between two calls, leadership was lost in
  /// between.
  std::int64_t terms() const;
  /// Returns the identity of the holder when the Lease was last read or written; empty: no holder, or unknown. Intended
  /// for status reports.
  std::string leader() const;
  /// Returns the error of the last attempt. It is not an error if another replica leads or won the race.
  absl::Status status() const;

 private:
  struct State {
    // The Lease when it was last read; nullopt: not read yet.
    std::optional<Lease> record = std::nullopt;
    // True if the Lease existed when it was last read.
    bool exists = false;
    // Time for which the Lease is known to have been unchanged.
    absl::Duration watched = absl::ZeroDuration();
    // The last reading of the clock, and how many times the clock has been set back.
    absl::Time looked_at = absl::InfinitePast();
    int setbacks = 0;
    bool leading = false;
    // True if `record` is our own last write, so that the next renewal needs no read.
    bool renewable = false;
    // Time at which the last acknowledged renewal was sent.
    absl::Time renewed_at = absl::InfinitePast();
    absl::Time due = absl::InfinitePast();
    std::int64_t terms = 0;
    std::uint64_t attempts = 0;
    // Keyed by annotation; nullopt: to be removed.
    std::map<std::string, std::optional<std::string>> announced = {};
    // True if the server has refused the announced annotations.
    bool muted = false;
    absl::Status status = absl::OkStatus();
  };

  LeaderElection(std::shared_ptr<ClusterFacade> cluster, LeaderElectionOptions options);
  // The caller must hold the mutex.
  absl::Time Look() const;
  bool MayTake() const;
  absl::Duration Expiry() const;
  absl::Duration Wait(absl::Time now) const;
  void Annotate(Lease& lease) const;
  // Attempt, Read and the writes make calls to the cluster. The caller must not hold the mutex.
  absl::Status Attempt(const CallContext& context);
  absl::Status Read(const CallContext& context);
  absl::Status Write(const CallContext& context);
  absl::Status WriteReleased(const CallContext& context);
  CallContext Bounded(const CallContext& context) const;

  const std::shared_ptr<ClusterFacade> cluster_;
  const LeaderElectionOptions options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. Mutable, because each reading of the clock is recorded.
  mutable State state_;
};

struct ControllerOptions {
  /// Minimum time between the starts of two passes, so that a burst of changes causes a single pass.
  absl::Duration passes_apart = absl::Milliseconds(5);
  /// Pause after a failed pass; doubles up to `retry_max` while passes fail.
  absl::Duration retry_first = absl::Seconds(1);
  absl::Duration retry_max = absl::Minutes(1);
  /// Time limit for one pass. A stop ends the pass early.
  absl::Duration pass_timeout = absl::Minutes(2);
  /// Maximum time between two passes if no cache reports changes.
  absl::Duration poll_interval = absl::Seconds(5);
  /// Called when Step may have work to do before the time that it returned: after SetPolicy and Notify, when the cache
  /// has changes, and when requests have been answered. Called by any thread; must not call the controller. Null: no
  /// callback.
  std::function<void()> on_change = nullptr;
  /// The election of a leader among the replicas: passes are made only while this replica leads. Null: there is only
  /// one replica.
  std::shared_ptr<LeaderElection> election = nullptr;
};

struct ControllerStatus {
  bool leading = false;
  /// End of the last pass that failed or finished (Plan::finished); nullopt before the first.
  std::optional<absl::Time> last_pass = std::nullopt;
  /// Error of the last pass, or the reason why the cache cannot be read.
  absl::Status last_error = absl::OkStatus();
  Tally totals = {};
  int passes = 0;
};

class UpgradeController {
 public:
  /// `engine` must outlive the controller, and only the controller may call the engine's Reconcile and OnChange.
  /// `cache` is the engine's cache, or null.
  UpgradeController(UpgradeEngine& engine, std::shared_ptr<WatchCache> cache, ControllerOptions options);
  ~UpgradeController();

  /// Sets the policy for subsequent passes. The controller does nothing before the first call. A new policy takes
  /// effect immediately, even if the last pass failed.
  void SetPolicy(UpgradePolicy policy);
  /// Notifies the controller of a change that the cache cannot detect.
  void Notify();

  /// Performs the work that is due: an attempt to lead, and a pass. Returns the time at which to call again, unless
  /// Notify is called earlier; the current time means immediately.
  absl::Time Step(const CallContext& context);
  /// Waits in real time until `until`, the result of Step. Returns earlier on a relevant Notify, or if a stop is
  /// requested.
  void Wait(absl::Time until, const std::stop_token& stop);
  /// Shuts down: waits for requests and Events in progress, and releases the Lease. Step must not be called afterwards.
  void Stop();
  /// Steps until `stop` is requested, then calls Stop. Returns within the duration of one call after the request.
  void Run(std::stop_token stop);

  ControllerStatus status() const;
  /// For a liveness probe: returns OK while the loop runs, and an error once a pass has been running for twice its time
  /// limit.
  absl::Status Healthy() const;
  /// For a readiness probe: returns OK once the cache has read everything, and either a pass has succeeded since then
  /// or another replica leads.
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
  absl::Time not_before_ = absl::InfinitePast();  // earliest time of the next pass, even if something changes
  absl::Time due_ = absl::InfinitePast();         // latest time of the next pass, even if nothing changes

  // Used only by the thread that steps.
  absl::Status told_trouble_ = absl::OkStatus();
  bool told_leading_ = false;
  const std::unique_ptr<internal::RolloutOver> rollout_over_;
  bool rollout_ended_ = false;  // true if the rollout has ended in this step
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_CONTROLLER_H_
