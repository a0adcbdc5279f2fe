#include "simulation/opinion/pass_opinion.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "fmt/format.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr absl::Duration kAtOnce = absl::Seconds(1);
// Before which no time limit ends anything.
constexpr absl::Duration kAgeMin = absl::Seconds(60);

// A cache is not trusted when a watch has been failing for a minute (WatchCache::Health), and a pass takes two at most.
constexpr absl::Duration kWatchesMayFail = absl::Minutes(4);

// `drain timed out after 300 s: ...`; nullopt: the reason is another.
std::optional<absl::Duration> TimeThatIsOver(std::string_view reason) {
  constexpr std::string_view kAfter = " after ";
  const std::size_t at = reason.find(kAfter);
  const std::size_t end = reason.find(" s: ", at);
  std::int64_t seconds = 0;
  if (at == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  const std::string number(reason.substr(at + kAfter.size(), end - at - kAfter.size()));
  return absl::SimpleAtoi(number, &seconds) ? std::optional(absl::Seconds(seconds)) : std::nullopt;
}

}  // namespace

std::string WhyTooEarly(const NodePlan& plan, EngineTime time) {
  const std::optional<absl::Duration> timeout = TimeThatIsOver(plan.reason);
  if (!timeout || time.active + time.skew >= std::min(*timeout, kAgeMin)) return "";
  return fmt::format("by an engine that has been active for {}", absl::FormatDuration(time.active));
}

std::string WhyTooOld(const std::map<Operation, absl::Time>& failing_since, absl::Time now) {
  for (const auto& [watch, since] : failing_since) {
    if (now - since <= kWatchesMayFail) continue;
    return fmt::format("{} has been failing for {}", ToString(watch), absl::FormatDuration(now - since));
  }
  return "";
}

std::string WhyOtherOutcome(const NodePlan& plan, const NodeOutcome& outcome,
                            const std::map<std::string, EvictionAnswer>& answers) {
  if (absl::IsAlreadyExists(outcome.status)) return "that the NodeMaintenance is there counts as a failure";
  if (!outcome.status.ok()) return "";
  int accepted = 0;
  int refused = 0;
  for (const PodRef& pod : plan.evict) {
    const auto answer = answers.find(pod.uid);
    if (answer == answers.end()) return "";
    ++(answer->second.refusal == Refusal::kNone ? accepted : refused);
  }
  if (accepted == outcome.evictions_accepted && refused == outcome.evictions_refused) return "";
  return fmt::format("{} evictions accepted and {} refused are told, where {} and {} were", outcome.evictions_accepted,
                     outcome.evictions_refused, accepted, refused);
}

std::string WhyNotSooner(const ControllerTurn& turn) {
  if (!turn.after.leading || turn.until_next <= kAtOnce) return "";
  const bool passed = turn.after.passes > turn.before.passes;
  if (passed && turn.after.last_error.ok() && turn.outcomes > 0) {
    return fmt::format("no pass follows for {} on one whose requests were answered",
                       absl::FormatDuration(turn.until_next));
  }
  if (turn.term_begins && !passed && turn.before.last_error.ok()) {
    return fmt::format("a term begins without a pass, for {}", absl::FormatDuration(turn.until_next));
  }
  return "";
}

}  // namespace driverupgrade::testing::internal
