#include "driverupgrade/upgrade_controller.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "engine/rollout_over.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

// Time limit for releasing the Lease after all other work has ended.
constexpr absl::Duration kReleaseTimeout = absl::Seconds(5);
constexpr char kNotRead[] = "the cache is not synced yet";
constexpr absl::Duration kLookAtCache = absl::Seconds(1);
// Longest pause of the loop. A cache sends no notification when it becomes stale, so the loop must check it regularly.
constexpr absl::Duration kWaitMax = absl::Minutes(1);

// Returns the error for a cache that is not synced yet, if no watch reports an error.
absl::Status CacheNotRead() { return absl::FailedPreconditionError(kNotRead); }

}  // namespace

UpgradeController::UpgradeController(UpgradeEngine& engine, std::shared_ptr<WatchCache> cache,
                                     ControllerOptions options)
    : engine_(engine),
      cache_(std::move(cache)),
      options_(std::move(options)),
      clock_(engine.clock()),
      rollout_over_(std::make_unique<internal::RolloutOver>()) {
  engine_.OnChange([this] { Notify(); });
}

UpgradeController::~UpgradeController() { engine_.OnChange(nullptr); }

void UpgradeController::SetPolicy(UpgradePolicy policy) {
  {
    const std::lock_guard lock(mutex_);
    if (policy_ == policy) return;
    policy_ = std::move(policy);
    failures_ = 0;
    not_before_ = absl::InfinitePast();
  }
  Notify();
}

void UpgradeController::Notify() {
  {
    const std::lock_guard lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }
  if (options_.on_change) options_.on_change();
}

// If the clock was set back, everything becomes due now.
void UpgradeController::NoteTime(absl::Time now) {
  const std::lock_guard lock(mutex_);
  if (now < std::exchange(looked_at_, now)) due_ = not_before_ = now;
}

// Returns true if this replica may run passes. Sets `next` to the time at which the election must be called again.
bool UpgradeController::Lead(const CallContext& context, absl::Time& next) {
  next = options_.election ? options_.election->Step(context) : absl::InfiniteFuture();
  const bool leads = options_.election == nullptr || options_.election->IsLeader();
  const std::int64_t term = options_.election ? options_.election->terms() : 0;
  {
    const std::lock_guard lock(mutex_);
    status_.leading = leads;
    if (!leads || term == std::exchange(term_, term)) return leads;
    // The time of the next pass does not reflect the changes that another leader made, so the new term starts with a
    // pass.
    due_ = absl::InfinitePast();
  }
  engine_.Resume();
  return leads;
}

absl::Time UpgradeController::Step(const CallContext& context) {
  const absl::Time next = StepOnce(context);
  if (engine_.observer()) Tell();
  return next;
}

absl::Status UpgradeController::CacheTrouble() const {
  if (cache_ == nullptr) return absl::OkStatus();
  // Until the cache has synced once, there is no data to fall back on, so each error counts immediately.
  return cache_->Synced() ? cache_->Health() : cache_->Health(absl::ZeroDuration());
}

absl::Status UpgradeController::Trouble() const {
  DRIVERUPGRADE_RETURN_IF_ERROR(CacheTrouble());
  if (options_.election) DRIVERUPGRADE_RETURN_IF_ERROR(options_.election->status());
  const std::lock_guard lock(mutex_);
  const bool counts = status_.leading && status_.last_pass && status_.last_error != CacheNotRead();
  return counts ? status_.last_error : absl::OkStatus();
}

void UpgradeController::Tell() {
  Observer& observer = *engine_.observer();
  const bool leads = options_.election && options_.election->IsLeader();
  if (leads != std::exchange(told_leading_, leads)) observer.OnLeading(leads);
  absl::Status trouble = Trouble();
  if (trouble != told_trouble_) observer.OnTrouble(trouble);
  told_trouble_ = std::move(trouble);
  if (std::exchange(rollout_ended_, false)) observer.OnRolloutOver(status().totals);
}

absl::Time UpgradeController::StepOnce(const CallContext& context) {
  const absl::Time now = clock_->Now();
  NoteTime(now);
  absl::Time election_due = absl::InfiniteFuture();
  if (!Lead(context, election_due)) return election_due;
  std::optional<UpgradePolicy> policy;
  {
    const std::lock_guard lock(mutex_);
    if (!policy_) return election_due;
    if (cache_ != nullptr && !cache_->Synced()) {
      // The pass has not failed: the cache sends a notification when it is ready, and a periodic check reports what
      // delays it.
      const absl::Status hindrance = cache_->Health(absl::ZeroDuration());
      status_.last_error = hindrance.ok() ? CacheNotRead() : hindrance;
      notified_ = false;
      due_ = now + kLookAtCache;
      return std::min(due_, election_due);
    }
    const absl::Time due = std::max(not_before_, notified_ ? now : due_);
    if (due > now) return std::min(due, election_due);
    notified_ = false;
    pass_began_ = now;
    policy = policy_;
  }
  return std::min(Pass(context, *policy, now), election_due);
}

absl::Time UpgradeController::Pass(const CallContext& context, const UpgradePolicy& policy, absl::Time now) {
  absl::Time deadline = std::min(context.deadline, now + options_.pass_timeout);
  // Calls in flight must end before another replica can become the leader.
  if (options_.election) deadline = std::min(deadline, options_.election->LeadsUntil().value_or(now));
  const absl::StatusOr<ReconcileResult> result =
      engine_.Reconcile({.deadline = deadline, .stop = context.stop}, policy);
  const bool finished = result.ok() && result->plan.finished;
  if (!finished) rollout_over_->PassFailed();
  if (finished && engine_.observer()) {
    rollout_ended_ = rollout_over_->Ended(result->plan, [this] { return engine_.Everything(); });
  }
  const std::lock_guard lock(mutex_);
  pass_began_.reset();
  ++status_.passes;
  if (finished || !result.ok()) status_.last_pass = clock_->Now();
  status_.last_error = result.status();
  if (!result.ok()) {
    due_ = not_before_ = clock_->Now() + internal::Doubled(options_.retry_first, options_.retry_max, ++failures_);
    return due_;
  }
  failures_ = 0;
  if (finished) status_.totals = result->plan.totals;
  not_before_ = now + options_.passes_apart;
  due_ = result->wake_at.value_or(absl::InfiniteFuture());
  if (cache_ == nullptr) due_ = std::min(due_, now + options_.poll_interval);
  return std::max(not_before_, notified_ ? now : due_);
}

void UpgradeController::Run(std::stop_token stop) {
  while (!stop.stop_requested()) Wait(Step({.stop = stop}), stop);
  Stop();
}

void UpgradeController::Stop() {
  engine_.Quiesce();
  if (options_.election != nullptr) {
    options_.election->Release({.deadline = clock_->Now() + kReleaseTimeout}).IgnoreError();
  }
}

void UpgradeController::Wait(absl::Time until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // True if a notification has arrived after the check in Step. A notification does not shorten the pause between
  // passes, and is ignored by a replica that does not lead.
  const bool pending = notified_ && status_.leading && policy_;
  if (pending) until = std::min(until, not_before_);
  const absl::Duration pause = std::min(until - clock_->Now(), kWaitMax);
  if (pause <= absl::ZeroDuration()) return;
  changed_.wait_for(lock, stop, absl::ToChronoNanoseconds(pause),
                    [this, pending] { return notified_ && !pending && status_.leading && policy_; });
}

ControllerStatus UpgradeController::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

absl::Status UpgradeController::Healthy() const {
  const std::lock_guard lock(mutex_);
  if (pass_began_ && clock_->Now() > *pass_began_ + 2 * options_.pass_timeout) {
    return absl::DeadlineExceededError(fmt::format("a pass has been running since {}", absl::FormatTime(*pass_began_)));
  }
  return absl::OkStatus();
}

absl::Status UpgradeController::Ready() const {
  if (cache_ != nullptr) {
    DRIVERUPGRADE_RETURN_IF_ERROR(CacheTrouble());
    if (!cache_->Synced()) return absl::UnavailableError(kNotRead);
  }
  const std::lock_guard lock(mutex_);
  if (!status_.leading && options_.election != nullptr) return absl::OkStatus();
  if (!status_.last_pass) return absl::UnavailableError("no pass has finished yet");
  return status_.last_error;
}

}  // namespace driverupgrade
