#include "read/watch_follower.h"

#include <algorithm>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// If the server has not ended a watch this long after the watch's timeout, the watch counts as dead (api-A19).
constexpr absl::Duration kWatchSlack = absl::Seconds(30);
// A watch that has run this long without an event counts as working.
constexpr absl::Duration kQuiet = absl::Seconds(30);
// A watch that ends sooner than this, without an error or an event, counts as failed.
constexpr absl::Duration kShortestWatch = absl::Seconds(1);

}  // namespace

WatchFollower::WatchFollower(std::string name, const WatchCacheOptions& options, std::function<void()> on_synced,
                             int failures_before_list)
    : name_(std::move(name)),
      options_(options),
      on_synced_(std::move(on_synced)),
      failures_before_list_(failures_before_list) {}

absl::Time WatchFollower::Watch(const CallContext& context) {
  const absl::Time began = options_.clock->Now();
  // The timeout is one to two times the value of the option, so that watches do not all end at the same time.
  const auto thousandths = static_cast<int>(Hash(name_, round_++) % 1000);
  const absl::Duration timeout = options_.watch_timeout * (1000 + thousandths) / 1000;
  told_ = false;
  std::stop_source stop;
  const std::stop_callback stopped(context.stop, [&] { stop.request_stop(); });
  bool anew = false;
  {
    const std::lock_guard lock(mutex_);
    began_ = began;
    running_ = stop;
    anew = std::exchange(restart_, false);
  }
  if (anew) BeginAnew();
  const absl::Time deadline = std::min(context.deadline, began + timeout + kWatchSlack);
  const absl::Status ended = Call({.deadline = deadline, .stop = stop.get_token()}, timeout);
  const absl::Time now = options_.clock->Now();
  const bool worked = ended.ok() && (told_ || now - began >= kShortestWatch);
  {
    const std::lock_guard lock(mutex_);
    began_ = absl::InfiniteFuture();
    if (worked) {
      failures_ = 0;
      Mend();
    }
  }
  if (stop.stop_requested()) return now;
  if (!worked) return Ended(ended, now);
  NoteRestart(WatchRestart::kEnded);
  return now;
}

absl::Time WatchFollower::Ended(const absl::Status& ended, absl::Time now) {
  const int failures = NoteFailure(ended, now);
  const bool absent = IsAbsent(ended);
  if (absent) NoteListed();
  NoteRestart(absent                      ? WatchRestart::kAbsent
              : absl::IsOutOfRange(ended) ? WatchRestart::kExpired
                                          : WatchRestart::kFailed);
  if (absl::IsOutOfRange(ended) || failures % failures_before_list_ == 0) BeginAnew();
  // It is normal that the version of a watch becomes too old. After the first such failure, the list therefore starts
  // immediately.
  if (absl::IsOutOfRange(ended) && failures == 1) return now;
  if (failures_before_list_ == kFailuresBeforeListOfNodes) Untrust();
  return now + Spread(Doubled(options_.retry_first, options_.retry_max, failures), name_, failures);
}

void WatchFollower::Untrust() {
  const std::lock_guard lock(mutex_);
  synced_ = false;
}

void WatchFollower::Distrust() {
  const std::lock_guard lock(mutex_);
  restart_ = true;
  synced_ = false;
}

void WatchFollower::Restart() {
  Distrust();
  const std::lock_guard lock(mutex_);
  running_.request_stop();
}

void WatchFollower::NoteListed() {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (restart_) return;
    first = !std::exchange(synced_, true);
    Mend();
  }
  if (first) on_synced_();
}

// NotFound means that the cluster does not serve the kind, so there are no objects. However, once the kind has been
// served, NotFound may be wrong.
bool WatchFollower::IsAbsent(const absl::Status& ended) {
  if (!absl::IsNotFound(ended)) return false;
  if (!absent_ && !synced()) absent_ = TakeAsEmpty(ended);
  return absent_;
}

void WatchFollower::NoteProgress() {
  told_ = true;
  const std::lock_guard lock(mutex_);
  failures_ = 0;
  Mend();
}

void WatchFollower::Mend() {
  error_ = absl::OkStatus();
  failing_since_ = absl::InfiniteFuture();
}

int WatchFollower::NoteFailure(const absl::Status& status, absl::Time now) {
  const std::lock_guard lock(mutex_);
  error_ = status.ok() ? absl::UnavailableError("the watch ended immediately after its start") : status;
  failing_since_ = std::min(failing_since_, now);
  return ++failures_;
}

void WatchFollower::NoteRestart(WatchRestart reason) {
  const std::lock_guard lock(mutex_);
  ++restarts_[static_cast<std::size_t>(reason)];
}

std::uint64_t WatchFollower::restarts(WatchRestart reason) const {
  const std::lock_guard lock(mutex_);
  return restarts_[static_cast<std::size_t>(reason)];
}

bool WatchFollower::synced() const {
  const std::lock_guard lock(mutex_);
  return synced_;
}

absl::Status WatchFollower::Health(absl::Duration patience) const {
  const std::lock_guard lock(mutex_);
  const absl::Time now = options_.clock->Now();
  if (error_.ok() || failing_since_ + patience > now || began_ + kQuiet <= now) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("the watch on {} has been failing since {}: {}", name_,
                                            absl::FormatTime(absl::RFC3339_sec, failing_since_, absl::UTCTimeZone()),
                                            Message(error_)));
}

}  // namespace driverupgrade::internal
