#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "support/json.h"
#include "support/resource_condition.h"

namespace examples {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::CallContext;
using driverupgrade::Severity;

constexpr absl::Duration kTryAgain = absl::Seconds(30);
constexpr absl::Duration kStandingEvery = absl::Seconds(10);
// A rollout that starts and ends causes one alternation. Several alternations in quick succession show that another
// client removes the labels of nodes that are done.
constexpr int kAlternationsFree = 1;
constexpr absl::Duration kAlternatesEveryMax = absl::Minutes(2);
// Counts that change back within this time cause no write, because another client may remove labels as fast as they are
// written.
constexpr absl::Duration kSettles = absl::Seconds(2);

std::string_view ReasonOf(const std::optional<UpgradeStanding>& standing) {
  return standing ? std::string_view(standing->reason) : std::string_view();
}

absl::Duration PauseAfter(int alternations) {
  const int doublings = std::min(alternations - kAlternationsFree - 1, 4);
  return std::min(kStandingEvery * (1 << doublings), kAlternatesEveryMax);
}

}  // namespace

ResourceReporter::ResourceReporter(std::shared_ptr<const driverupgrade::ObjectClient> objects, std::string component,
                                   std::shared_ptr<driverupgrade::Clock> clock, driverupgrade::LogSink log)
    : objects_(std::move(objects)), component_(std::move(component)), clock_(std::move(clock)), log_(std::move(log)) {}

absl::Time ResourceReporter::Report(const CallContext& context, const std::vector<ResourceVerdict>& verdicts) {
  const absl::Time now = clock_->Now();
  if (now < not_before_) return not_before_;
  absl::Status failure = absl::OkStatus();
  absl::Time again = absl::InfiniteFuture();
  for (const ResourceVerdict& verdict : verdicts) {
    const auto before = written_.find(verdict.object.uid);
    if (before != written_.end() && MayWait(before->second, verdict, now, again)) continue;
    Said said{.version = verdict.object.resource_version,
              .error = verdict.error,
              .state = verdict.state,
              .standing = verdict.standing,
              .at = now};
    if (before != written_.end()) Follow(before->second, said);
    const absl::Status reported = ReportOne(context, verdict);
    // The watch will deliver the conflicting version, or the deletion.
    if (absl::IsAborted(reported) || absl::IsNotFound(reported)) continue;
    if (reported.ok()) {
      written_[verdict.object.uid] = said;
    } else {
      failure = reported;
    }
  }
  if (failure != told_ && !failure.ok()) {
    log_({.severity = Severity::kWarning,
          .message = "cannot update the status of a custom resource",
          .fields = {{"error", std::string(failure.message())}}});
  }
  told_ = failure;
  not_before_ = failure.ok() ? absl::InfinitePast() : now + kTryAgain;
  return failure.ok() ? again : not_before_;
}

// Counts in `said` how often the reasons have alternated. A reason that stays unchanged for a while resets the count.
void ResourceReporter::Follow(const Said& before, Said& said) {
  said.earlier_reason = before.earlier_reason;
  said.alternations = said.at - before.at > 2 * kAlternatesEveryMax ? 0 : before.alternations;
  if (ReasonOf(before.standing) == ReasonOf(said.standing)) return;
  said.alternations = ReasonOf(said.standing) == before.earlier_reason ? said.alternations + 1 : 0;
  said.earlier_reason = ReasonOf(before.standing);
}

// A changed error never waits, because a policy can take effect, or lose its effect, without being edited.
bool ResourceReporter::MayWait(Said& before, const ResourceVerdict& verdict, absl::Time now, absl::Time& again) {
  if (before.error != verdict.error) return false;
  const std::string_view reason = ReasonOf(verdict.standing);
  const bool changes_reason = ReasonOf(before.standing) != reason;
  if (before.state != verdict.state && !changes_reason) return false;
  absl::Time due = before.at + kStandingEvery;
  if (before.standing == verdict.standing) {
    before.differs_since.reset();
    if (before.version == verdict.object.resource_version) return true;
    // Without a pause, two clients that write the state would overwrite each other's value indefinitely.
    if (verdict.state.empty()) return false;
  } else if (changes_reason) {
    if (reason != before.earlier_reason || before.alternations <= kAlternationsFree) return false;
    due = before.at + PauseAfter(before.alternations);
  } else if (before.version == verdict.object.resource_version) {
    if (!before.differs_since) before.differs_since = now;
    due = std::max(due, *before.differs_since + kSettles);
  }
  if (now >= due) return false;
  again = std::min(again, due);
  return true;
}

// Returns true once for each change to the error or the object's generation. Ignores the progress of the upgrade. Does
// not rely on the condition, because another client may remove it.
bool ResourceReporter::IsNews(const ApiObject& object, const absl::Status& error) {
  const absl::StatusOr<rapidjson::Document> parsed = ParseJson(object.json);
  const Known now{.error = error, .generation = parsed.ok() ? Integer(*parsed, {"metadata", "generation"}) : 0};
  const auto [known, is_first] = known_.try_emplace(object.uid, now);
  // After a restart, only the condition shows that the Event was written.
  if (is_first) return !IsSaid(object, error);
  return std::exchange(known->second, now) != now;
}

absl::Status ResourceReporter::ReportOne(const CallContext& context, const ResourceVerdict& verdict) {
  const absl::Time now = clock_->Now();
  const ApiObject& object = verdict.object;
  const std::optional<std::string> patch =
      ConditionPatch(object, verdict.error, now, verdict.state, verdict.standing, verdict.warnings);
  if (patch) {
    const auto patched = objects_->MergePatch(context, verdict.kind, {object.ns, object.name}, *patch, "status");
    if (!patched.ok()) return patched.status();
  }
  if (IsNews(object, verdict.error)) owed_.insert(object.uid);
  if (verdict.error.ok()) {
    owed_.erase(object.uid);
    return absl::OkStatus();
  }
  if (!owed_.contains(object.uid)) return absl::OkStatus();
  static const driverupgrade::ObjectKind kEvents{.group_version = "v1", .resource = "events"};
  const std::string name = fmt::format("{}.{:x}", object.name, absl::ToUnixNanos(now));
  const std::string ns = object.ns.empty() ? "default" : object.ns;
  const absl::Status created =
      objects_->Create(context, kEvents, {ns, name}, WarningEvent(object, name, component_, verdict.error, now))
          .status();
  if (!created.ok()) return created;
  owed_.erase(object.uid);
  return absl::OkStatus();
}

}  // namespace examples
