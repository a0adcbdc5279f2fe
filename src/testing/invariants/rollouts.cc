// Rollouts (I14): the record goes on to the next stage only when the one before is done, soaked and approved, and a node
// starts only if the record and the windows allow it.
#include <algorithm>
#include <set>
#include <string_view>
#include <variant>

#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"

namespace driverupgrade::testing {

using driverupgrade::internal::RolloutRecord;
using internal::StateOf;

namespace {

// A pass takes two minutes at most, by a clock that may run at half rate, and what it decides by was read before. So
// long what has been true counts as true.
constexpr absl::Duration kKnown = absl::Minutes(5);
constexpr std::size_t kRecordsKept = 64;

// The number of the stage of that name; nothing recorded is the first.
std::size_t StageNamed(const RolloutPolicy& rollout, std::string_view name) {
  if (name.empty()) return 0;
  const auto found = std::find_if(rollout.stages.begin(), rollout.stages.end(),
                                  [&](const RolloutStage& stage) { return stage.name == name; });
  return static_cast<std::size_t>(found - rollout.stages.begin());
}

// By selectors alone.
bool IsIn(const RolloutStage& stage, const Node& node) {
  const LabelSelector* selector = std::get_if<LabelSelector>(&stage.nodes);
  return selector != nullptr && selector->Matches(node.labels);
}

bool IsBySelectors(const RolloutPolicy& rollout) {
  return std::all_of(rollout.stages.begin(), rollout.stages.end(),
                     [](const RolloutStage& stage) { return std::holds_alternative<LabelSelector>(stage.nodes); });
}

std::size_t StageOf(const RolloutPolicy& rollout, const Node& node) {
  const auto found = std::find_if(rollout.stages.begin(), rollout.stages.end(),
                                  [&](const RolloutStage& stage) { return IsIn(stage, node); });
  return static_cast<std::size_t>(found - rollout.stages.begin());
}

// Whether some window is open at some time from `first` to `last`.
bool SomeWindowIsOpen(const RolloutPolicy& rollout, absl::Time first, absl::Time last) {
  if (rollout.windows.empty()) return true;
  for (const RolloutWindow& window : rollout.windows) {
    const absl::CivilDay today = absl::ToCivilDay(last, window.time_zone);
    // A window may be a week long.
    for (absl::CivilDay day = today - 8; day <= today; ++day) {
      if (!window.days.empty() && !window.days.contains(absl::GetWeekday(day))) continue;
      const absl::Time begins = absl::FromCivil(day, window.time_zone) + window.start;
      if (begins <= last && first < begins + window.duration) return true;
    }
  }
  return false;
}

}  // namespace

// Nodes that nobody waits for, by an administrator's wish, count as ended, too. Here nobody may ask the cluster, in whose
// commit this runs.
void InvariantChecker::Impl::NoteMember(const Node& after) {
  if (!policy->rollout) return;
  const std::optional<UpgradeState> state = StateOf(after, keys);
  const auto skip = after.labels.find(keys.skip);
  const bool left_out = (skip != after.labels.end() && skip->second == "true") || after.unschedulable;
  // A node without a label may be found done when it gets one.
  const bool ended = state == UpgradeState::kDone || state == UpgradeState::kFailed ||
                     state == UpgradeState::kUnknown || (left_out && !internal::IsBusy(state));
  RolloutMember& member = members_[after.name];
  member.node = after;
  member.ended = ended ? absl::InfiniteFuture() : std::min(member.ended, cluster->Now());
}

void InvariantChecker::Impl::NoteApprovals(const DaemonSet& daemon_set) {
  const auto found = daemon_set.annotations.find(options.identity.ApprovedAnnotation());
  const std::string text = found == daemon_set.annotations.end() ? "" : found->second;
  const std::set<std::string> approvals = absl::StrSplit(text, ',', absl::SkipEmpty());
  for (auto& [approval, until] : approvals_) {
    if (!approvals.contains(approval)) until = std::min(until, cluster->Now());
  }
  for (const std::string& approval : approvals) approvals_[approval] = absl::InfiniteFuture();
}

void InvariantChecker::Impl::OnLedger(const ConfigMap* ledger) {
  const std::string& name = options.identity.Name();
  std::string key = "_rollout_" + name;
  std::replace(key.begin(), key.end(), '/', '_');
  RolloutRecord record;
  if (ledger != nullptr) {
    if (const auto found = ledger->data.find(key); found != ledger->data.end()) {
      record = driverupgrade::internal::ParseRecord(found->second).record;
    }
  }
  const RolloutRecord before = records_.empty() ? RolloutRecord() : records_.back().second;
  if (record == before) return;
  if (!record.revision.empty()) JudgeAdvance(before, record);
  records_.emplace_back(cluster->Now(), std::move(record));
  if (records_.size() > kRecordsKept) records_.pop_front();
}

// What keeps the rollout from having come past the stage; empty: nothing.
std::string InvariantChecker::Impl::WhyNotPast(const RolloutStage& stage, const RolloutRecord& before,
                                               const std::string& revision) const {
  const absl::Time now = cluster->Now();
  for (const auto& [name, member] : members_) {
    if (!IsIn(stage, member.node) || !with_driver_.contains(name)) continue;
    if (member.ended >= now - kKnown || nodes.at(name).created >= now - kKnown) continue;
    return fmt::format("node {} has not ended", name);
  }
  if (stage.soak > absl::ZeroDuration()) {
    if (!before.soak_since) return "nothing says since when it soaks";
    if (now + 2 * options.clock_skew_max < *before.soak_since + stage.soak) return "it has not soaked";
  }
  if (stage.approval == Approval::kAutomatic) return "";
  const auto approval = approvals_.find(stage.name + "@" + revision);
  const bool approved = approval != approvals_.end() && approval->second >= now - kKnown;
  return approved ? "" : "nobody has approved it";
}

void InvariantChecker::Impl::JudgeAdvance(const RolloutRecord& before, const RolloutRecord& after) {
  const std::optional<RolloutPolicy>& rollout = PolicyOf(writer).rollout;
  if (!rollout) return;
  const bool same = before.revision == after.revision && before.stages == after.stages;
  const std::size_t from = same ? StageNamed(*rollout, before.stage) : 0;
  const std::size_t to = std::min(StageNamed(*rollout, after.stage), rollout->stages.size());
  if (to > from && after.halt) Fail("I14", fmt::format("stage {} began although the rollout is halted", after.stage));
  // Stages by number are judged by what is independent of who is in them.
  for (std::size_t i = from; i < to; ++i) {
    const std::string why =
        WhyNotPast(rollout->stages[i], same && i == from ? before : RolloutRecord(), after.revision);
    if (!why.empty()) Fail("I14", fmt::format("stage {} was passed, but {}", rollout->stages[i].name, why));
  }
}

std::string InvariantChecker::Impl::WhyNotStarted(const RolloutPolicy& rollout, const Node& node,
                                                  absl::Time asked) const {
  const absl::Duration skew = options.clock_skew_max;
  if (!SomeWindowIsOpen(rollout, asked - kKnown - skew, cluster->Now() + skew)) return "no window is open";
  // A node that an upgrade before has left cordoned waits for no stage.
  const bool out_of_service = node.unschedulable && internal::IsMarked(node, keys);
  const std::size_t stage = IsBySelectors(rollout) && !out_of_service ? StageOf(rollout, node) : 0;
  std::string why = "no record allows it";
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const RolloutRecord& record = records_[i].second;
    const absl::Time until = i + 1 < records_.size() ? records_[i + 1].first : absl::InfiniteFuture();
    if (until < asked - kKnown) continue;
    if (record.halt) {
      why = fmt::format("the rollout is halted: {}", record.halt->reason);
    } else if (StageNamed(rollout, record.stage) < stage) {
      why = fmt::format("stage {} has been reached", record.stage);
    } else {
      return "";
    }
  }
  return why;
}

// By the policy of the first request for this version of the node, and at some time since it.
void InvariantChecker::Impl::JudgeRollout(const Node& before) {
  const Attempt* first = FirstAttempt(before);
  const UpgradePolicy& its_policy = first != nullptr ? *first->policy : PolicyOf(writer);
  if (!its_policy.rollout) return;
  const absl::Time asked = first != nullptr ? first->time : cluster->Now();
  const std::string why = WhyNotStarted(*its_policy.rollout, before, asked);
  if (!why.empty()) Fail("I14", fmt::format("node {} was started, but {}", before.name, why));
}

}  // namespace driverupgrade::testing
