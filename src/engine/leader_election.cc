#include <algorithm>
#include <string_view>
#include <utility>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "cluster/check_supports.h"
#include "driverupgrade/upgrade_controller.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

constexpr double kJitter = 1.2;
constexpr int kReleaseTries = 3;
// The API server limits the total size of keys and values.
constexpr std::size_t kAnnotationsMax = std::size_t{256} << 10;

absl::Status CheckOptions(const LeaderElectionOptions& options) {
  const auto refuse = [](std::string_view why) {
    return absl::InvalidArgumentError(fmt::format("leader election options: {}", why));
  };
  if (options.ns.empty() || options.name.empty()) return refuse("namespace and name of the Lease are required");
  if (options.identity.empty()) return refuse("an identity is required");
  if (options.retry_period <= absl::ZeroDuration()) return refuse("retry_period must be positive");
  if (options.renew_deadline <= kJitter * options.retry_period) {
    return refuse("renew_deadline must be more than 1.2 x retry_period");
  }
  if (options.lease_duration <= options.renew_deadline) return refuse("lease_duration must exceed renew_deadline");
  // The Lease stores its duration in whole seconds, and the other candidates wait for that duration.
  if (options.lease_duration != absl::Trunc(options.lease_duration, absl::Seconds(1))) {
    return refuse("lease_duration must be a whole number of seconds");
  }
  return absl::OkStatus();
}

// Applies the final mix of splitmix64, so that the hashes of consecutive attempts differ in all bits.
std::uint64_t Hash(std::string_view text, std::uint64_t seed, std::uint64_t count) {
  std::uint64_t hash = internal::Hash(text, seed);
  hash += count * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

absl::Time ToMicros(absl::Time time) { return absl::FromUnixMicros(absl::ToUnixMicros(time)); }

// Returns the Lease to write so that `options.identity` holds it (api-A59).
Lease Held(const std::optional<Lease>& before, bool exists, const LeaderElectionOptions& options, absl::Time now) {
  Lease lease = before.value_or(Lease{});
  if (!before || before->holder != options.identity) {
    lease.acquire_time = ToMicros(now);
    if (exists) ++lease.transitions;
  }
  lease.ns = options.ns;
  lease.name = options.name;
  lease.holder = options.identity;
  lease.duration = options.lease_duration;
  lease.renew_time = ToMicros(now);
  return lease;
}

std::size_t SizeOf(const StringMap& annotations) {
  std::size_t size = 0;
  for (const auto& [key, value] : annotations) size += key.size() + value.size();
  return size;
}

// Returns true if the server or a webhook may have rejected the annotations.
bool MayBeForAnnotations(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status);
}

// Returns OK if another write came first. Such a conflict is not an error: the next attempt reads the current holder,
// which may be this replica.
absl::Status Trouble(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LeaderElection>> LeaderElection::Create(std::shared_ptr<ClusterFacade> cluster,
                                                                       LeaderElectionOptions options) {
  if (cluster == nullptr) return absl::InvalidArgumentError("leader election options: no cluster facade");
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckOptions(options));
  DRIVERUPGRADE_RETURN_IF_ERROR(
      internal::CheckSupports(*cluster, {Operation::kGetLease, Operation::kCreateLease, Operation::kUpdateLease}));
  if (options.clock == nullptr) options.clock = SystemClock();
  return std::unique_ptr<LeaderElection>(new LeaderElection(std::move(cluster), std::move(options)));
}

LeaderElection::LeaderElection(std::shared_ptr<ClusterFacade> cluster, LeaderElectionOptions options)
    : cluster_(std::move(cluster)), options_(std::move(options)) {}

absl::Time LeaderElection::Step(const CallContext& context) {
  {
    const std::lock_guard lock(mutex_);
    if (Look() < state_.due) return state_.due;
    ++state_.attempts;
  }
  absl::Status status = Trouble(Attempt(context));
  const std::lock_guard lock(mutex_);
  const absl::Time now = Look();
  state_.status = std::move(status);
  state_.due = now + Wait(now);
  return state_.due;
}

absl::Status LeaderElection::Attempt(const CallContext& context) {
  bool renewable = false;
  {
    const std::lock_guard lock(mutex_);
    renewable = state_.leading && state_.renewable;
  }
  if (renewable) {
    absl::Status status = Write(context);
    if (!absl::IsAborted(status) && !absl::IsNotFound(status)) return status;
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(Read(context));
  {
    const std::lock_guard lock(mutex_);
    if (!MayTake()) return absl::OkStatus();
  }
  return Write(context);
}

absl::Status LeaderElection::Release(const CallContext& context) {
  {
    const std::lock_guard lock(mutex_);
    state_.leading = false;
    state_.renewable = false;
  }
  absl::Status status;
  for (int i = 0; i < kReleaseTries; ++i) {
    // Always reads the Lease, because this replica may hold it after a write whose response was lost.
    status = Read(context);
    {
      const std::lock_guard lock(mutex_);
      if (status.ok() && (!state_.exists || state_.record->holder != options_.identity)) break;
    }
    if (status.ok()) status = WriteReleased(context);
    if (!absl::IsAborted(status)) break;
  }
  const std::lock_guard lock(mutex_);
  state_.due = Look() + (1 + kJitter) * options_.retry_period;
  return status;
}

absl::Status LeaderElection::Read(const CallContext& context) {
  absl::StatusOr<Lease> found = cluster_->GetLease(Bounded(context), {.ns = options_.ns, .name = options_.name});
  const std::lock_guard lock(mutex_);
  // Reads the clock after the response, so that a changed Lease is watched for its full duration from now on (api-A58).
  Look();
  state_.renewable = false;
  if (absl::IsNotFound(found.status())) {
    state_.exists = false;
    return absl::OkStatus();
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(found.status());
  state_.exists = true;
  if (state_.record != *found) {
    state_.record = *std::move(found);
    state_.watched = absl::ZeroDuration();
  }
  if (state_.record->holder != options_.identity) state_.leading = false;
  return absl::OkStatus();
}

absl::Status LeaderElection::Write(const CallContext& context) {
  Lease lease;
  bool exists = false;
  absl::Time sent;
  int setbacks = 0;
  {
    const std::lock_guard lock(mutex_);
    sent = Look();
    setbacks = state_.setbacks;
    exists = state_.exists;
    lease = Held(state_.record, exists, options_, sent);
    Annotate(lease);
  }
  absl::StatusOr<Lease> written =
      exists ? cluster_->UpdateLease(Bounded(context), lease) : cluster_->CreateLease(Bounded(context), lease);
  const std::lock_guard lock(mutex_);
  const absl::Time now = Look();
  state_.renewable = written.ok();
  if (MayBeForAnnotations(written.status())) state_.muted = true;
  // If the response was lost, this replica may hold the Lease, but it does not act as the leader until the next attempt
  // has read the Lease.
  DRIVERUPGRADE_RETURN_IF_ERROR(written.status());
  state_.record = *std::move(written);
  state_.exists = true;
  state_.watched = absl::ZeroDuration();
  // This replica does not become the leader if the response took too long, or if the duration of the request is unknown
  // because the clock was set back.
  const bool leads = now - sent < options_.renew_deadline && setbacks == state_.setbacks;
  if (leads && !state_.leading) {
    ++state_.terms;
    // Enables annotations again, because earlier writes may have been refused for another reason.
    state_.muted = false;
  }
  state_.leading = leads;
  state_.renewed_at = sent;
  return absl::OkStatus();
}

absl::Status LeaderElection::WriteReleased(const CallContext& context) {
  Lease lease;
  {
    const std::lock_guard lock(mutex_);
    lease = *state_.record;
    lease.acquire_time = ToMicros(Look());
  }
  lease.renew_time = lease.acquire_time;
  lease.holder.clear();
  lease.duration = absl::Seconds(1);
  absl::StatusOr<Lease> written = cluster_->UpdateLease(Bounded(context), lease);
  DRIVERUPGRADE_RETURN_IF_ERROR(written.status());
  const std::lock_guard lock(mutex_);
  state_.record = *std::move(written);
  state_.watched = absl::ZeroDuration();
  return absl::OkStatus();
}

CallContext LeaderElection::Bounded(const CallContext& context) const {
  const absl::Duration limit = std::max(absl::Seconds(1), options_.renew_deadline / 2);
  return {.deadline = std::min(context.deadline, options_.clock->Now() + limit), .stop = context.stop};
}

// Reads the clock, and updates the state that depends only on time.
absl::Time LeaderElection::Look() const {
  const absl::Time now = options_.clock->Now();
  if (now < state_.looked_at) {
    // The elapsed time is unknown, so a leader must assume that its Lease has expired, and a candidate must assume that
    // the other replica's Lease has not.
    ++state_.setbacks;
    state_.leading = false;
    state_.due = now;
  } else {
    state_.watched += std::min(now - state_.looked_at, (1 + kJitter) * options_.retry_period);
  }
  state_.looked_at = now;
  if (now - state_.renewed_at >= options_.renew_deadline) state_.leading = false;
  return now;
}

// Returns true if the Lease was free or ours at the last read, or if it has expired. A deleted Lease counts as held
// until its duration has passed.
bool LeaderElection::MayTake() const {
  if (!state_.record || state_.record->holder.empty() || state_.record->holder == options_.identity) return true;
  return state_.watched >= Expiry();
}

absl::Duration LeaderElection::Expiry() const {
  const bool sensible = state_.record && state_.record->duration > absl::ZeroDuration();
  return sensible ? state_.record->duration : options_.lease_duration;
}

absl::Duration LeaderElection::Wait(absl::Time now) const {
  if (state_.leading) {
    if (state_.renewable) return options_.retry_period;
    // Attempts become more frequent towards the deadline, because this replica stops leading if the Lease is not
    // renewed before the deadline.
    const absl::Duration left = state_.renewed_at + options_.renew_deadline - now;
    return std::max(std::min(options_.retry_period, left / 2), options_.retry_period / 4);
  }
  const auto thousandths = static_cast<double>(Hash(options_.identity, options_.seed, state_.attempts) % 1000);
  const absl::Duration wait = options_.retry_period * (1 + kJitter * thousandths / 1000);
  const absl::Duration left = Expiry() - state_.watched;
  const bool runs_out = state_.record && !MayTake();
  return runs_out ? std::min(wait, left) : wait;
}

void LeaderElection::Announce(const std::string& key, std::optional<std::string> value) {
  const std::lock_guard lock(mutex_);
  const auto known = state_.announced.find(key);
  if (known != state_.announced.end() && known->second == value) return;
  state_.announced[key] = std::move(value);
  state_.muted = false;
}

void LeaderElection::Annotate(Lease& lease) const {
  for (const auto& [key, value] : state_.announced) {
    lease.annotations.erase(key);
    if (state_.muted || !value) continue;
    if (SizeOf(lease.annotations) + key.size() + value->size() <= kAnnotationsMax) lease.annotations[key] = *value;
  }
}

bool LeaderElection::IsLeader() const {
  const std::lock_guard lock(mutex_);
  Look();
  return state_.leading;
}

std::optional<absl::Time> LeaderElection::LeadsUntil() const {
  const std::lock_guard lock(mutex_);
  Look();
  if (!state_.leading) return std::nullopt;
  return state_.renewed_at + options_.renew_deadline;
}

std::int64_t LeaderElection::terms() const {
  const std::lock_guard lock(mutex_);
  return state_.terms;
}

std::string LeaderElection::leader() const {
  const std::lock_guard lock(mutex_);
  return state_.record && state_.exists ? state_.record->holder : "";
}

absl::Status LeaderElection::status() const {
  const std::lock_guard lock(mutex_);
  return state_.status;
}

}  // namespace driverupgrade
