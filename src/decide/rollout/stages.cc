#include "decide/rollout/stages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "base/backoff.h"
#include "decide/rollout/groups.h"
#include "decide/rollout/health.h"
#include "fmt/format.h"
#include "policy/rollout_codec.h"

namespace driverupgrade::internal {
namespace {

// Limits the number of waived nodes in the record. Nodes beyond this limit can halt the rollout again.
constexpr std::size_t kWaivedMax = 1000;
// If the clock of another replica is further ahead than this, it is considered wrong.
constexpr absl::Duration kClockSkewMax = absl::Seconds(60);

// Later releases must compute the same value for the same policy, even if they add fields. Otherwise, an update to such
// a release would lift halts and restart rollouts.
std::string Fingerprint(const RolloutSections& sections) {
  return fmt::format("{:016x}", Hash(FormatRolloutSections(sections, /*only_set=*/true), 0));
}

// Node counts of one stage. Nodes that are left out do not count.
struct StageTally {
  int nodes = 0;
  int ended = 0;   // done and well, or failed
  int failed = 0;  // failed and not waived
  std::string failed_node = {};
  int unread = 0;           // unwell, but only because their pods have not been read
  std::string unwell = {};  // description of the first unwell node
  std::string left_out = {};
};

std::string_view NameOf(const RolloutPolicy& policy, int stage) {
  return stage < static_cast<int>(policy.stages.size()) ? std::string_view(policy.stages[stage].name) : kLastStage;
}

int StageNamed(const RolloutPolicy& policy, std::string_view name) {
  if (name == kLastStage) return static_cast<int>(policy.stages.size());
  const auto stage = std::find_if(policy.stages.begin(), policy.stages.end(),
                                  [&](const RolloutStage& one) { return one.name == name; });
  return stage == policy.stages.end() ? 0 : static_cast<int>(stage - policy.stages.begin());
}

int FailuresTolerated(const RolloutStage& stage, int nodes) {
  if (!stage.max_failures) return 0;
  if (const Count* count = std::get_if<Count>(&*stage.max_failures)) return count->value;
  return static_cast<int>(std::int64_t{std::get_if<Percent>(&*stage.max_failures)->value} * nodes / 100);
}

// Rounds up to a whole second, because rounding down would shorten the soak.
absl::Time NextSecond(absl::Time now) {
  return absl::FromUnixSeconds(absl::ToUnixSeconds(now + absl::Seconds(1) - absl::Nanoseconds(1)));
}

// Computes one step of a rollout, based on a record.
class Advance {
 public:
  Advance(const RolloutRecord& stored, const RolloutView& view, const RolloutCensus& census, const RolloutRules& rules,
          absl::Time now)
      : stored_(stored),
        view_(view),
        census_(census),
        policy_(rules.policy),
        rules_(rules),
        now_(now),
        approvals_(view.approvals) {
    step_.record = stored;
  }

  RolloutStep Run() {
    for (const absl::Duration took : view_.took) record().durations.Add(took);
    Adopt();
    NoteGroup();
    LiftHalt();
    Tally();
    if (!record().halt) NoteHalt();
    if (record().halt) {
      // The soak starts again after the halt.
      record().soak_since.reset();
      step_.closed = Halted(*record().halt);
    } else {
      while (stage() < Last() && PassesStage()) {
        record().stage = NameOf(policy_, stage() + 1);
        record().soak_since.reset();
      }
    }
    NoteCompleted();
    step_.last_group = WhyNoOtherGroup();
    SayWhatIsOpen();
    return std::move(step_);
  }

 private:
  RolloutRecord& record() { return step_.record; }
  int stage() { return StageNamed(policy_, record().stage); }
  int Last() const { return static_cast<int>(policy_.stages.size()); }
  std::string ApprovalOf(std::string_view stage) const { return fmt::format("{}@{}", stage, *view_.revision); }

  // Restarts the rollout if the revision or the stages differ from the record.
  void Adopt() {
    if (record().revision != *view_.revision) {
      // If the record has lost its revision, the halt in the record may belong to the current revision.
      if (!record().revision.empty() && !IsHaltedRevisionWanted()) record().halt.reset();
      record().revision = *view_.revision;
      record().began = NextSecond(now_);
      record().stages.clear();
      record().group.clear();
      record().waived.clear();
      // If these durations were kept, one slow revision would prevent nodes from starting in windows at every later
      // revision.
      if (policy_.expected_node_duration) record().durations = {};
    }
    if (record().stages != rules_.stages_fingerprint) {
      record().stages = rules_.stages_fingerprint;
      record().stage.clear();
      record().soak_since.reset();
    }
    step_.returns = record().completed == record().revision && IsAnybodyToCome();
    if (step_.returns && policy_.rollback == Rollback::kFast) record().stage = kLastStage;
    record().stage = NameOf(policy_, stage());
    if (record().soak_since && *record().soak_since > now_ + kClockSkewMax) record().soak_since.reset();
  }

  std::set<std::string> WantedRevisions() const {
    std::set<std::string> wanted = view_.revisions;
    wanted.insert(*view_.revision);
    return wanted;
  }

  // Returns true if a halted revision may still be a target revision. Compares the revisions of the individual
  // DaemonSets, because their combined revision also changes when a DaemonSet is added or deleted.
  bool IsHaltedRevisionWanted() {
    if (!record().halt) return false;
    const std::set<std::string> wanted = WantedRevisions();
    const std::set<std::string>& halted = record().halt->revisions;
    return std::any_of(halted.begin(), halted.end(), [&](const std::string& one) { return wanted.contains(one); });
  }

  void LiftHalt() {
    std::optional<Halt>& halt = record().halt;
    if (!halt) return;
    if (halt->revisions.empty()) halt->revisions = WantedRevisions();
    if (halt->policy.empty()) {
      halt->policy = rules_.fingerprint;
      halt->seen = approvals_;
    }
    if (halt->stage.empty() || !IsStage(halt->stage)) halt->stage = record().stage;
    if (halt->policy == rules_.whole_fingerprint) halt->policy = rules_.fingerprint;
    if (halt->policy != rules_.fingerprint) return halt.reset();
    std::erase_if(halt->seen, [&](const std::string& approval) { return !approvals_.contains(approval); });
    const std::string approval = ApprovalOf(halt->stage);
    if (!approvals_.contains(approval) || halt->seen.contains(approval)) return;
    halt.reset();
    for (const std::size_t i : census_.troubled()) {
      const RolloutNode& node = view_.nodes[i];
      if (record().waived.size() >= kWaivedMax) break;
      if (node.progress == NodeProgress::kFailed || !WhySick(i).empty()) record().waived.insert(node.node->name);
    }
  }

  bool IsStage(const std::string& name) const { return name == NameOf(policy_, StageNamed(policy_, name)); }

  void Tally() {
    const std::vector<LeftOutNodes> left_out = census_.LeftOutByStage(view_.nodes);
    for (const StageCount& count : census_.counts()) {
      tallies_.push_back({.nodes = count.nodes,
                          .ended = count.done - count.unwell + count.failed,
                          .left_out = Describe(left_out[tallies_.size()], count.nodes)});
    }
    for (const std::size_t i : census_.troubled()) {
      const RolloutNode& node = view_.nodes[i];
      StageTally& tally = tallies_[static_cast<std::size_t>(census_.stages()[i])];
      const bool is_unwell = node.progress == NodeProgress::kDone && !node.unwell.empty();
      tally.unread += is_unwell && node.is_unread;
      // An approval has waived this node.
      if (is_unwell && node.out_of_use && record().waived.contains(node.node->name)) {
        ++tally.ended;
        continue;
      }
      if (is_unwell && tally.unwell.empty()) tally.unwell = fmt::format("; node {}: {}", node.node->name, node.unwell);
      if (node.progress == NodeProgress::kFailed && !record().waived.contains(node.node->name)) {
        if (tally.failed++ == 0) tally.failed_node = node.node->name;
      }
    }
  }

  // Records the group in progress, whose nodes are watched until the next group starts.
  void NoteGroup() {
    if (!policy_.groups || policy_.groups->mode != GroupMode::kOneAtATime) return record().group.clear();
    if (const std::string* group = census_.GroupUnderWay()) record().group = *group;
  }

  bool IsOfLastGroup(std::size_t i) const {
    return !step_.record.group.empty() && GroupOf(view_.nodes[i], *policy_.groups) == step_.record.group;
  }

  // Returns true if the node must be in use: its stage is in progress or soaking, or its group was the last group to
  // start.
  bool IsWatched(std::size_t i) {
    const int stage = census_.stages()[i];
    return (stage == this->stage() && stage < Last()) || IsOfLastGroup(i);
  }

  // Returns why the node is sick; empty if it is not sick.
  std::string WhySick(std::size_t i) {
    const RolloutNode& node = view_.nodes[i];
    if (!node.sick.empty()) return node.sick;
    const bool counts = node.out_of_use_since && IsWatched(i);
    if (!counts || now_ < *node.out_of_use_since + UnwellMax(policy_)) return "";
    return fmt::format("{}, for more than {}", node.unwell, absl::FormatDuration(UnwellMax(policy_)));
  }

  // Returns why a node of the last group prevents other groups from starting; empty if no node prevents this.
  std::string WhyNoOtherGroup() {
    for (const std::size_t i : census_.troubled()) {
      const RolloutNode& node = view_.nodes[i];
      if (!node.out_of_use || !IsOfLastGroup(i) || record().waived.contains(node.node->name)) continue;
      return fmt::format("one group at a time: node {} of the last group: {}", node.node->name, node.unwell);
    }
    return "";
  }

  void WakeAt(absl::Time time) { step_.wake_at = std::min(time, step_.wake_at.value_or(absl::InfiniteFuture())); }

  // Returns true if a node is waiting or in progress. Once all nodes have finished, a halt would only raise a needless
  // alert.
  bool IsAnybodyToCome() const {
    const std::vector<StageCount>& counts = census_.counts();
    return std::any_of(counts.begin(), counts.end(),
                       [](const StageCount& stage) { return stage.done + stage.failed < stage.nodes; });
  }

  // Records the revision as completed once every node is done. If a node has failed, the revision is not confirmed to
  // work, so a rollback to it must pass the stages again.
  void NoteCompleted() {
    const std::vector<StageCount>& counts = census_.counts();
    const auto is_over = [](const StageCount& stage) { return stage.done == stage.nodes; };
    const auto has_nodes = [](const StageCount& stage) { return stage.nodes > 0; };
    if (!std::all_of(counts.begin(), counts.end(), is_over)) return;
    if (std::any_of(counts.begin(), counts.end(), has_nodes)) record().completed = record().revision;
  }

  void NoteHalt() {
    if (!IsAnybodyToCome()) return;
    std::string reason = view_.sick;
    for (const std::size_t i : census_.troubled()) {
      const RolloutNode& node = view_.nodes[i];
      if (!reason.empty()) break;
      if (record().waived.contains(node.node->name)) continue;
      if (std::string why = WhySick(i); !why.empty()) {
        reason =
            fmt::format("node {} of stage {} is sick: {}", node.node->name, NameOf(policy_, census_.stages()[i]), why);
      } else if (node.out_of_use_since && IsWatched(i)) {
        WakeAt(*node.out_of_use_since + UnwellMax(policy_));
      }
    }
    for (std::size_t i = 0; i < policy_.stages.size() && reason.empty(); ++i) {
      const RolloutStage& stage = policy_.stages[i];
      const StageTally& tally = tallies_[i];
      if (!stage.max_failures || tally.failed <= FailuresTolerated(stage, tally.nodes)) continue;
      reason = fmt::format("stage {}: {} nodes failed (limit {}), first: {}", stage.name, tally.failed,
                           FailuresTolerated(stage, tally.nodes), tally.failed_node);
    }
    if (reason.empty()) return;
    record().halt = Halt{.stage = record().stage,
                         .reason = reason,
                         .policy = rules_.fingerprint,
                         .seen = approvals_,
                         .revisions = WantedRevisions()};
  }

  // Returns true if the next stage may start. Otherwise sets the reason.
  bool PassesStage() {
    const RolloutStage& stage = policy_.stages[static_cast<std::size_t>(this->stage())];
    const StageTally& tally = tallies_[static_cast<std::size_t>(this->stage())];
    const bool is_too_bad = tally.failed > FailuresTolerated(stage, tally.nodes);
    if (tally.nodes == 0 || tally.ended < tally.nodes || is_too_bad) {
      // A new leader has not read any pods yet. This alone must not restart the soak.
      const bool may_have_ended = tally.nodes > 0 && tally.ended + tally.unread == tally.nodes && !is_too_bad;
      if (!may_have_ended) record().soak_since.reset();
      // A stage without nodes, for example because of a mistyped label, must not pass, because the next stage would
      // then start untested.
      const std::string left_out = tally.left_out.empty() ? "" : "; " + tally.left_out;
      step_.closed = {
          .reason = GateReason::kStage,
          .detail = tally.nodes == 0
                        ? fmt::format("stage {} {}", stage.name, WhyEmpty(census_, view_.nodes, this->stage()))
                        : fmt::format("stage {}: {} of {} nodes have ended, {} failed{}{}", stage.name, tally.ended,
                                      tally.nodes, tally.failed, tally.unwell, left_out),
          .subject = GateSubject(GateSubjectKind::kStage, "", stage.name),
          .count = GateCount{.used = tally.ended, .limit = tally.nodes}};
      return false;
    }
    if (!record().soak_since) record().soak_since = NextSecond(now_);
    const absl::Time soaked = *record().soak_since + stage.soak;
    if (now_ < soaked) {
      WakeAt(soaked);
      return Wait(GateReason::kSoak, fmt::format("stage {} soaks for {}", stage.name, absl::FormatDuration(stage.soak)),
                  soaked);
    }
    if (stage.approval == Approval::kManual && !approvals_.contains(ApprovalOf(stage.name))) {
      step_.closed = {.reason = GateReason::kApproval,
                      .detail = fmt::format("stage {} waits for the approval {}", stage.name, ApprovalOf(stage.name)),
                      .subject = GateSubject(GateSubjectKind::kApproval, "", ApprovalOf(stage.name))};
      return false;
    }
    return true;
  }

  bool Wait(GateReason reason, std::string detail, std::optional<absl::Time> not_before = std::nullopt) {
    step_.closed = {.reason = reason, .detail = std::move(detail), .not_before = not_before};
    return false;
  }

  Gate Halted(const Halt& halt) const {
    const bool is_known = view_.revision && !halt.stage.empty();
    Gate gate{.reason = GateReason::kHalted, .detail = halt.reason};
    if (is_known) {
      gate.subject = GateSubject(GateSubjectKind::kApproval, "", ApprovalOf(halt.stage));
      gate.detail += fmt::format("; to continue, approve {}", gate.subject->name);
    }
    return gate;
  }

  // Opens only stages that both the stored and the new record have reached. Other replicas cannot read the new record
  // before it is stored, and the stored record may be outdated.
  void SayWhatIsOpen() {
    const bool is_current = stored_.revision == record().revision && stored_.stages == record().stages;
    step_.open = is_current ? std::min(StageNamed(policy_, stored_.stage), stage()) : 0;
    if (record().halt) {
      step_.halted = Halted(*record().halt);
    } else if (stored_.halt) {
      step_.halted = Gate{.reason = GateReason::kHalted, .detail = "the halt is being lifted"};
    }
    if (step_.open < stage() && !step_.halted) Wait(GateReason::kStage, "the stage is about to start");
  }

  const RolloutRecord& stored_;
  const RolloutView& view_;
  const RolloutCensus& census_;
  const RolloutPolicy& policy_;
  const RolloutRules& rules_;
  const absl::Time now_;
  const std::set<std::string>& approvals_;
  std::vector<StageTally> tallies_;
  RolloutStep step_;
};

}  // namespace

RolloutRules RulesOf(const RolloutPolicy& policy, const FailureBudgets& budgets) {
  RolloutPolicy who_is_where{.groups = policy.groups};
  for (const RolloutStage& stage : policy.stages) {
    who_is_where.stages.push_back({.name = stage.name, .nodes = stage.nodes});
  }
  RolloutPolicy without_times = policy;
  without_times.windows.clear();
  without_times.closed.clear();
  without_times.closed_time_zone.reset();
  without_times.order.clear();
  without_times.finish_by = false;
  without_times.expected_node_duration.reset();
  without_times.rollback = Rollback::kStaged;
  return {.policy = policy,
          .fingerprint = Fingerprint({.rollout = std::move(without_times), .by_class = budgets}),
          .stages_fingerprint = Fingerprint({.rollout = std::move(who_is_where)}),
          .whole_fingerprint = Fingerprint({.rollout = policy, .by_class = budgets})};
}

absl::Duration NodeTakes(const RolloutRecord& record, const RolloutPolicy& policy) {
  return record.durations.Quantile(95).value_or(policy.expected_node_duration.value_or(absl::ZeroDuration()));
}

RolloutStep AdvanceRollout(const RolloutRecord& stored, const RolloutView& view, const RolloutCensus& census,
                           const RolloutRules& rules, absl::Time now) {
  if (!view.revision) {
    RolloutStep step{.record = stored,
                     .closed = {.reason = GateReason::kStage, .detail = "the target revision is not known"}};
    if (stored.halt) step.halted = Gate{.reason = GateReason::kHalted, .detail = stored.halt->reason};
    return step;
  }
  return Advance(stored, view, census, rules, now).Run();
}

}  // namespace driverupgrade::internal
