// Compares the upgrade durations in a rollout's record with the durations that the checker has observed (I22).
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"
#include "testing/invariants/start_times.h"

namespace driverupgrade::testing {

using driverupgrade::internal::DurationSketch;
using internal::IsBusy;
using internal::StateOf;

namespace {

// Time within which an engine stores its measurements.
constexpr absl::Duration kStored = absl::Minutes(10);
// Tolerance for response times, because an engine measures the time between two responses.
constexpr absl::Duration kAnswersTake = absl::Seconds(5);

bool IsAtWork(const std::optional<UpgradeState>& state) { return IsBusy(state) && state != UpgradeState::kFailed; }

}  // namespace

// Records an attempt if the engine both started and finished it. Failed attempts do not count.
void InvariantChecker::Impl::NoteTry(const Node& before, const Node& after) {
  const std::optional<UpgradeState> state = StateOf(after, keys);
  const absl::Time now = cluster->Now();
  const auto began = tries_began_.find(after.uid);
  const bool works = IsAtWork(state);
  if (internal::MayGoOn(after, keys)) return;
  const bool resumes = internal::MayGoOn(before, keys) && began != tries_began_.end();
  if (works && !IsAtWork(StateOf(before, keys)) && !resumes) {
    tries_began_.insert_or_assign(after.uid, now);
  } else if (began != tries_began_.end() && !works) {
    ForgetTries();
    if (state == UpgradeState::kDone) {
      tries_.push_back({.began = began->second, .ended = now, .known_until = now + kStored});
    }
    tries_began_.erase(began);
  }
}

void InvariantChecker::Impl::ForgetTries() {
  std::erase_if(tries_, [now = cluster->Now()](const Try& one) { return one.known_until < now; });
}

// Extends the time within which measurements must be stored, because an engine may be unable to store them until the
// server responds again.
void InvariantChecker::Impl::NoteFault() {
  last_fault = cluster->Now();
  ForgetTries();
  for (Try& one : tries_) one.known_until = last_fault + kStored;
}

// Each new count in the sketch must belong to an attempt that the checker has observed. The upper bound of the count's
// bucket must be at least the duration of that attempt, and at most a quarter longer. Nothing is checked if a fault
// occurred during any of these attempts, because the measured time may then include the engine's recovery. The first
// record of a new leader is not checked either, because it may contain measurements of an earlier term.
void InvariantChecker::Impl::JudgeDurations(const DurationSketch& before, const DurationSketch& after) {
  const std::string sender = writer == nullptr ? "" : writer->name;
  const bool leads_anew = std::exchange(stored_by_, sender) != sender;
  if (before == after || leads_anew || options.clock_skew_max > absl::ZeroDuration()) return;
  ForgetTries();
  const auto met_fault = [&](const Try& one) { return one.began <= last_fault + kAftermath; };
  if (disturbed || std::any_of(tries_.begin(), tries_.end(), met_fault)) return;
  for (const auto& [step, count] : after.counts()) {
    const auto had = before.counts().find(step);
    if (had != before.counts().end() && had->second >= count) continue;
    const absl::Duration longest = LongestOf(step);
    const bool is_seen = std::any_of(tries_.begin(), tries_.end(), [&](const Try& one) {
      const absl::Duration took = one.ended - one.began;
      return longest >= took - kAnswersTake && longest <= (took + kAnswersTake) * 1.25 + absl::Seconds(1);
    });
    if (is_seen) continue;
    std::string took;
    for (const Try& one : tries_) took += absl::FormatDuration(one.ended - one.began) + " ";
    Fail("I22", fmt::format("the record reports that a node took {}, but finished nodes took {}",
                            absl::FormatDuration(longest), took));
  }
}

absl::Duration InvariantChecker::Impl::ShortestSince(const RolloutPolicy& rollout, absl::Time time) const {
  const DurationSketch nothing;
  absl::Duration shortest = records_.empty() ? TakesBy(nothing, rollout) : absl::InfiniteDuration();
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const absl::Time until = i + 1 < records_.size() ? records_[i + 1].first : absl::InfiniteFuture();
    if (until >= time) shortest = std::min(shortest, TakesBy(records_[i].second.durations, rollout));
  }
  return shortest;
}

absl::Duration InvariantChecker::Impl::LongestSince(const RolloutPolicy& rollout, absl::Time time) const {
  absl::Duration longest = absl::ZeroDuration();
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const absl::Time until = i + 1 < records_.size() ? records_[i + 1].first : absl::InfiniteFuture();
    if (until >= time) longest = std::max(longest, TakesBy(records_[i].second.durations, rollout));
  }
  return longest;
}

}  // namespace driverupgrade::testing
