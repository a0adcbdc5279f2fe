#include "simulation/world/patience.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::testing::internal {
namespace {

// Until pauses have grown to what they grow to.
constexpr absl::Duration kFirstMinutes = absl::Minutes(3);
// Longer than any pause.
constexpr absl::Duration kSilence = absl::Minutes(1);
// Six watches, or five and a pass, each every half minute; and as many again, as a minute may begin in the midst of a
// burst.
constexpr int kAskedAMinute = 24;
// What is to wait for so long may wait for a tenth less, so that not all come at once.
constexpr double kSpread = 0.9;
constexpr absl::Duration kRetryAfterMax = absl::Minutes(5);
constexpr absl::Duration kLedgerPause = absl::Milliseconds(900);
constexpr absl::Duration kAfterConflict = absl::Milliseconds(13'500);

}  // namespace

std::string Patience::Unserved(absl::Time now, int things, Operation operation) {
  // Whoever has waited for one answer all that time has not slowed down yet.
  if (now >= last_asked_ + kSilence) {
    away_since_ = now;
    first_asked_.clear();
  }
  last_asked_ = now;
  away_since_ = std::min(away_since_, now);
  if (now >= minute_began_ + absl::Minutes(1) || now < minute_began_) {
    minute_began_ = now;
    asked_ = 0;
  }
  if (now < first_asked_.try_emplace(operation, now).first->second + kFirstMinutes) return "";
  ++asked_;
  if (now < away_since_ + kFirstMinutes || asked_ <= kAskedAMinute * things) return "";
  return fmt::format("{} requests within {} while the server has been away for {}", asked_,
                     absl::FormatDuration(now - minute_began_), absl::FormatDuration(now - away_since_));
}

std::string Patience::Evicting(const EvictPodParams& params, absl::Time now) const {
  const auto found = refused_.find(params.pod.uid);
  if (found == refused_.end() || now >= found->second.not_before) return "";
  return fmt::format("pod {}: evicted {} before the server wanted to hear of it again", params.pod.ToString(),
                     absl::FormatDuration(found->second.not_before - now));
}

void Patience::Evicted(const std::string& node, const EvictPodParams& params, const EvictionAnswer& answer,
                       absl::Time now) {
  if (answer.refusal == Refusal::kNone) {
    refused_.erase(params.pod.uid);
  } else {
    const absl::Duration wait = std::min(answer.retry_after, kRetryAfterMax) * kSpread;
    refused_.insert_or_assign(params.pod.uid, Refused{.node = node, .not_before = now + wait});
  }
}

void Patience::UpgradeBegins(const std::string& node) {
  std::erase_if(refused_, [&](const auto& refused) { return refused.second.node == node; });
}

std::string Patience::AskingLedger(absl::Time now) {
  if (now >= ledger_failed_ + kLedgerPause || std::exchange(starts_over_, false)) return "";
  return fmt::format("the ledger is asked for again, {} after it could not be had",
                     absl::FormatDuration(now - ledger_failed_));
}

void Patience::ClusterSetBack() {
  starts_over_ = true;
  refused_.clear();
  conflicts_.clear();
}

std::string Patience::Patching(const PatchNodeParams& params, absl::Time now) const {
  const auto found = conflicts_.find(params.uid);
  if (found == conflicts_.end() || found->second.resource_version != params.resource_version) return "";
  if (now >= found->second.time + kAfterConflict) return "";
  return fmt::format("node {}: patched as of version {} again, {} after a conflict", params.name,
                     params.resource_version, absl::FormatDuration(now - found->second.time));
}

void Patience::MetConflict(const PatchNodeParams& params, absl::Time now) {
  conflicts_.insert_or_assign(params.uid, Conflict{.resource_version = params.resource_version, .time = now});
}

}  // namespace driverupgrade::testing::internal
