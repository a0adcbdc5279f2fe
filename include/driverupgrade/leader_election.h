/// Which of several replicas acts: leader election by a Lease, as client-go does it.
///
/// Defines LeaderElection and LeaderElectionOptions.
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
#ifndef DRIVERUPGRADE_LEADER_ELECTION_H_
#define DRIVERUPGRADE_LEADER_ELECTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade {

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

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_LEADER_ELECTION_H_
