/// Runs an engine for good: when something changes, when a deadline says so, and after errors with patience; in one of
/// several replicas.
///
/// Defines UpgradeController, ControllerOptions, ControllerStatus, LeaderElection and LeaderElectionOptions.
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
  /// Of the Lease. One for each set of replicas of which one may act.
  std::string ns = {};
  std::string name = {};
  /// Of this process and of no other, earlier ones included: `<host name>_<uuid>` as controller-runtime has it.
  std::string identity = {};
  /// For how long the others wait after the last renewal they saw. In whole seconds.
  absl::Duration lease_duration = absl::Seconds(15);
  /// For how long the leader goes on without a renewal. What it has under way then has until lease_duration to end.
  absl::Duration renew_deadline = absl::Seconds(10);
  /// Between two attempts; candidates wait up to 2.2 times as long.
  absl::Duration retry_period = absl::Seconds(2);
  /// Varies the waits of candidates, together with `identity`.
  std::uint64_t seed = 0;
  /// Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
};

/// Step and Release are called by one thread at a time; the rest by any thread at any time.
/// Leader election by a Lease, as client-go does it:
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
/// There is no thread inside: whoever calls Step drives it. Two replicas never believe at the same moment that they
/// lead, provided that
/// - their clocks run at rates of which the faster is less than lease_duration / renew_deadline times the slower (1.5
///   as the defaults are). What the clocks show does not matter: expiry is measured from when this replica saw the
///   record change, and a leader's time from before it sent its last acknowledged renewal;
/// - clocks do not jump by much between two looks at them, or jump once at most while a lease runs out. A leader that
///   sees its clock turned back stops to lead until it has renewed; a candidate counts at most retry_period x 2.2
///   between two looks, which with the defaults is less than what lies between renew_deadline and lease_duration;
/// - nobody deletes the Lease by hand. Replicas that have seen it wait until it would have ended; a new one does not;
/// - every process has an identity of its own.
/// A Lease does not fence: writes carry preconditions, and what cannot be taken back asks IsLeader() first.
class LeaderElection {
 public:
  /// Errors: InvalidArgument unless lease_duration > renew_deadline > 1.2 x retry_period > 0, lease_duration is of whole
  /// seconds, and nothing is empty;
  /// Unimplemented, naming it, if `cluster` lacks an operation.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LeaderElection>> Create(std::shared_ptr<ClusterFacade> cluster,
                                                                              LeaderElectionOptions options);

  /// Makes one attempt to acquire or to renew if one is due (three calls at most, each bounded by half the renew
  /// deadline) and returns when to call again. Earlier calls cost nothing; later ones delay a take-over, or end this
  /// replica's leadership.
  absl::Time Step(const CallContext& context);

  /// Gives leadership up, if it is held, so that the others need not wait. Call it when the guarded work has
  /// ended and Step is not called again; if it is, the first attempt leaves the others time to come first. IsLeader()
  /// is false from the beginning, whatever the answer. Errors: those of the calls; it may be repeated.
  [[nodiscard]] absl::Status Release(const CallContext& context);

  /// An annotation that the Lease is to have while this replica leads, for others who want to know it: written with
  /// what is written anyway, so it costs no request. nullopt takes away what a leader before left there; annotations
  /// that were never announced stay. Leadership comes first: values by which the annotations would exceed what
  /// Kubernetes allows, 256 KiB, are left out, and so is everything once the server has refused a write with it, until
  /// something else is announced or leadership is gained anew. Any thread may call it.
  void Announce(const std::string& key, std::optional<std::string> value);

  /// Whether this replica leads at this moment. Ask before everything that only a leader may do.
  bool IsLeader() const;
  /// Until when, by this replica's clock, if no renewal succeeds: the latest sensible deadline of a leader's call.
  /// nullopt: it does not lead.
  std::optional<absl::Time> LeadsUntil() const;
  /// How often leadership was gained. A change between two looks tells of a loss in between.
  std::int64_t terms() const;
  /// Identity of the holder when the Lease was last read or written; empty: nobody, or not known. For status.
  std::string leader() const;
  /// What hindered the last attempt; OK as well if another replica leads or won the race.
  absl::Status status() const;

 private:
  struct State {
    // As last seen in the cluster; nullopt: not seen yet.
    std::optional<Lease> record = std::nullopt;
    // It was there at the last look.
    bool exists = false;
    // For how long, at least, it has not changed.
    absl::Duration watched = absl::ZeroDuration();
    // The last look at the clock, and how often it had gone back.
    absl::Time looked_at = absl::InfinitePast();
    int setbacks = 0;
    bool leading = false;
    // `record` is what we wrote last, so the next renewal needs no read.
    bool renewable = false;
    // When the last acknowledged renewal was sent.
    absl::Time renewed_at = absl::InfinitePast();
    absl::Time due = absl::InfinitePast();
    std::int64_t terms = 0;
    std::uint64_t attempts = 0;
    // By key; nullopt: to be taken away.
    std::map<std::string, std::optional<std::string>> announced = {};
    // The server has refused what is announced.
    bool muted = false;
    absl::Status status = absl::OkStatus();
  };

  LeaderElection(std::shared_ptr<ClusterFacade> cluster, LeaderElectionOptions options);
  // These need the mutex.
  absl::Time Look() const;
  bool MayTake() const;
  absl::Duration Expiry() const;
  absl::Duration Wait(absl::Time now) const;
  void Annotate(Lease& lease) const;
  // These make calls, without it.
  absl::Status Attempt(const CallContext& context);
  absl::Status Read(const CallContext& context);
  absl::Status Write(const CallContext& context);
  absl::Status WriteReleased(const CallContext& context);
  CallContext Bounded(const CallContext& context) const;

  const std::shared_ptr<ClusterFacade> cluster_;
  const LeaderElectionOptions options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. Mutable, because a look at the clock is a fact to remember.
  mutable State state_;
};

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
