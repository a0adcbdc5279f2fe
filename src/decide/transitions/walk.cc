#include "decide/transitions/walk.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "driverupgrade/cordon_names.h"
#include "fmt/format.h"
#include "model/node_state.h"

namespace driverupgrade::inline v1 {
namespace {

// A timer further ahead than this was not written by a sane clock (dep-F4).
constexpr absl::Duration kClockSkewMax = absl::Seconds(60);
// How often something that could not be read is tried again.
constexpr absl::Duration kReadRetry = absl::Seconds(5);
// No deadline fails a node before the engine has been active for that long (dep-F4).
constexpr absl::Duration kActiveMin = absl::Seconds(60);
// Beyond that the number on the node is somebody's garbage, to which one can still be added.
constexpr int kFailuresCounted = 1'000'000;

// Valid until the annotation is written.
std::string_view AnnotationOf(const Node& node, const std::string& key) {
  const auto found = node.annotations.find(key);
  return found == node.annotations.end() ? std::string_view() : std::string_view(found->second);
}

// They are two types where abseil was built for C++14.
absl::string_view ToAbseil(std::string_view text) { return {text.data(), text.size()}; }

std::optional<absl::Time> ParseUnixSeconds(std::string_view text) {
  std::int64_t seconds = 0;
  // The bound keeps the arithmetic on it far from the ends of absl::Time.
  if (!absl::SimpleAtoi(ToAbseil(text), &seconds) || seconds < 0 || seconds > (std::int64_t{1} << 40))
    return std::nullopt;
  return absl::FromUnixSeconds(seconds);
}

struct Stage {
  std::string_view state;
  absl::Time began;
  std::string_view revision;
};

// `<state>@<unix seconds>@<target revision>`. Points into `text`.
std::optional<Stage> ParseStage(std::string_view text) {
  const std::size_t first = text.find('@');
  const std::size_t last = text.rfind('@');
  if (first == last || std::count(text.begin(), text.end(), '@') != 2) return std::nullopt;
  const std::optional<absl::Time> began = ParseUnixSeconds(text.substr(first + 1, last - first - 1));
  if (!began) return std::nullopt;
  return Stage{.state = text.substr(0, first), .began = *began, .revision = text.substr(last + 1)};
}

std::map<std::string, std::optional<std::string>> Changes(const StringMap& from, const StringMap& to) {
  std::map<std::string, std::optional<std::string>> changes;
  for (const auto& [key, value] : from) {
    if (!to.contains(key)) changes[key] = std::nullopt;
  }
  for (const auto& [key, value] : to) {
    const auto before = from.find(key);
    if (before == from.end() || before->second != value) changes[key] = value;
  }
  return changes;
}

void CopyPrefixed(const StringMap& from, std::string_view prefix, StringMap& to) {
  for (auto it = from.lower_bound(std::string(prefix)); it != from.end() && it->first.starts_with(prefix); ++it) {
    to.insert(*it);
  }
}

// What of a node an upgrade writes: its own labels and annotations, the cordon and whose it is.
Node OurPart(const Node& node, const DriverIdentity& identity) {
  Node part{.unschedulable = node.unschedulable};
  CopyPrefixed(node.labels, identity.KeyPrefix(), part.labels);
  CopyPrefixed(node.annotations, identity.KeyPrefix(), part.annotations);
  CopyPrefixed(node.annotations, kCordonedByAnnotation, part.annotations);
  return part;
}

}  // namespace

NodePatch Difference(const Node& from, const Node& to) {
  NodePatch patch{.labels = Changes(from.labels, to.labels), .annotations = Changes(from.annotations, to.annotations)};
  if (from.unschedulable != to.unschedulable) patch.unschedulable = to.unschedulable;
  return patch;
}

absl::Time NextRead(absl::Time now) {
  return absl::UnixEpoch() + absl::Floor(now - absl::UnixEpoch(), kReadRetry) + kReadRetry;
}

std::optional<PodDeletionPolicy> PodDeletion(const JudgeContext& in) {
  const bool selects = in.policy.pod_deletion && !in.policy.pod_deletion->pod_selector.empty();
  if (!in.options.pod_deletion && !selects) return std::nullopt;
  return in.policy.pod_deletion.value_or(PodDeletionPolicy{});
}

std::optional<absl::Duration> EvacuationTimeout(const JudgeContext& in) {
  if (const auto deletion = PodDeletion(in)) return deletion->timeout;
  if (in.policy.drain) return in.policy.drain->timeout;
  return std::nullopt;
}

Walk::Walk(const JudgeContext& context, const NodeView& node_view, bool is_admitted)
    : in(context),
      view(node_view),
      admitted(is_admitted),
      drains(context.options.own_pod),
      safe_load(context.identity),
      requestor(context.options.requestor ? std::optional<MaintenanceRequestor>(*context.options.requestor)
                                          : std::nullopt),
      read_state_(internal::StateOf(node_view.node, context.identity)),
      // Judge deals with values that are no state before it walks.
      state_(read_state_.value_or(UpgradeState::kUnknown)) {
  verdict.plan.from = state_;
  AssessDriver();
  verdict.findings = driver.findings;
}

Node& Walk::Edit() {
  if (!edited_) edited_ = OurPart(view.node, in.identity);
  return *edited_;
}

void Walk::Annotate(const std::string& key, std::string value) {
  if (!HasAnnotation(key) || AnnotationOf(after(), key) != value) Edit().annotations[key] = std::move(value);
}

bool Walk::Unannotate(const std::string& key) { return HasAnnotation(key) && Edit().annotations.erase(key) > 0; }

void Walk::AssessDriver() {
  driver = pods.Assess(view, in.driver, AnnotationOf(after(), in.identity.RestartPodAnnotation()),
                       in.options.driver_restart_count_max);
}

void Walk::SetRestartsOnly() {
  std::set<std::string> compared;
  for (const Pod* pod : driver.to_restart) compared.emplace(RevisionHash(*pod));
  Annotate(in.identity.RestartOnlyAnnotation(), fmt::format("{}@{}", fmt::join(compared, ","), driver.wanted_revision));
}

// A pod of yet another revision has not been compared with the target: its template came while the last pod was away.
bool Walk::RestartsOnly() const {
  const std::string_view value = AnnotationOf(after(), in.identity.RestartOnlyAnnotation());
  const std::size_t at = value.rfind('@');
  if (driver.wanted_revision.empty() || at == std::string::npos || value.substr(at + 1) != driver.wanted_revision) {
    return false;
  }
  const std::string compared = fmt::format(",{},", value.substr(0, at));
  return std::all_of(driver.to_restart.begin(), driver.to_restart.end(), [&](const Pod* pod) {
    return compared.find(fmt::format(",{},", RevisionHash(*pod))) != std::string::npos;
  });
}

Progress Walk::Enter(UpgradeState next, std::string reason) {
  DropStage();
  verdict.wake_at.reset();
  state_ = next;
  entered_ = true;
  Edit().labels[in.identity.StateLabel()] = std::string(ToLabelValue(next));
  verdict.plan.path.push_back(next);
  verdict.plan.reason = std::move(reason);
  Event(false, fmt::format("Successfully updated node state label to {}", ToLabelValue(next)));
  return Progress::kMoved;
}

Progress Walk::Fail(std::string_view what, std::string why) {
  // A Warning before the transition, so that the Events read in the order of cause and effect.
  Event(true, fmt::format("{}, {}", what, why));
  const std::string revision = TargetRevision();
  Enter(UpgradeState::kFailed, std::move(why));
  if (!revision.empty()) Annotate(in.identity.FailedRevisionAnnotation(), revision);
  WriteFailures({.count = PastFailures().count + 1, .last = in.now});
  return Progress::kMoved;
}

Failures Walk::PastFailures() const {
  const std::string_view text = AnnotationOf(after(), in.identity.FailuresAnnotation());
  const std::size_t at = text.find('@');
  int count = 0;
  if (at == std::string_view::npos || !absl::SimpleAtoi(ToAbseil(text.substr(0, at)), &count) || count < 1) return {};
  const std::optional<absl::Time> last = ParseUnixSeconds(text.substr(at + 1));
  if (!last || *last > in.now + kClockSkewMax) return {};
  return {.count = std::min(count, kFailuresCounted), .last = *last};
}

void Walk::WriteFailures(const Failures& failures) {
  Annotate(in.identity.FailuresAnnotation(), fmt::format("{}@{}", failures.count, absl::ToUnixSeconds(failures.last)));
}

Progress Walk::Evict(EvictionRound round, absl::Time deadline) {
  verdict.plan.evict = std::move(round.evict);
  const absl::Time due = std::min(deadline, round.gate.not_before.value_or(absl::InfiniteFuture()));
  return Wait(round.gate.reason, std::move(round.gate.detail), due);
}

Progress Walk::DeleteOverdue(const std::vector<const Pod*>& overdue_pods, EvictionRound round) {
  verdict.plan.remove = drains.Overdue(overdue_pods, view, in.now);
  return Wait(round.gate.reason,
              fmt::format("the time for evictions is over, the pods are deleted: {}", round.remaining),
              round.gate.not_before.value_or(absl::InfiniteFuture()));
}

Progress Walk::Wait(GateReason reason, std::string detail, absl::Time not_before) {
  verdict.gate = Gate{.reason = reason, .detail = std::move(detail)};
  if (not_before != absl::InfiniteFuture()) verdict.gate->not_before = not_before;
  WakeAt(not_before);
  return Progress::kStopped;
}

void Walk::WakeAt(absl::Time time) {
  if (time == absl::InfiniteFuture()) return;
  verdict.wake_at = std::min(time, verdict.wake_at.value_or(absl::InfiniteFuture()));
}

void Walk::Note(FindingCode code, std::string message) {
  verdict.findings.push_back({.code = code, .node = view.node.name, .message = std::move(message)});
}

void Walk::Event(bool warning, std::string message) {
  verdict.plan.events.push_back({.warning = warning, .message = std::move(message)});
}

absl::Time Walk::Deadline(absl::Duration timeout) {
  if (timeout == absl::InfiniteDuration()) return absl::InfiniteFuture();
  const absl::Time deadline = std::max(StageBegan(timeout) + timeout, in.active_since + std::min(timeout, kActiveMin));
  if (!Expired(deadline)) WakeAt(deadline);
  return deadline;
}

absl::Time Walk::StageBegan(absl::Duration timeout) {
  if (entered_) return in.now;  // Finish writes the timer
  const std::string_view text = AnnotationOf(after(), in.identity.StageAnnotation());
  const std::optional<Stage> stage = ParseStage(text);
  const bool same_revision = stage && (driver.wanted_revision.empty() || stage->revision == driver.wanted_revision);
  if (stage && stage->state == ToLabelValue(state_) && same_revision && stage->began <= in.now + kClockSkewMax) {
    return stage->began;
  }
  if (const auto upstream = UpstreamTimer(timeout)) {
    WriteStage(*upstream);
    return *upstream;
  }
  Note(FindingCode::kTimerRestarted,
       fmt::format("the timer of {} begins afresh: {}", ToString(state_),
                   text.empty() ? "it has none that can be trusted" : fmt::format("`{}` is not its own", text)));
  WriteStage(in.now);
  return absl::FromUnixSeconds(absl::ToUnixSeconds(in.now));
}

// The Go library's timer of the stage, unless it is unusable or has run out before we ever saw it.
std::optional<absl::Time> Walk::UpstreamTimer(absl::Duration timeout) const {
  std::string_view text;
  if (state_ == UpgradeState::kWaitForJobsRequired)
    text = AnnotationOf(after(), in.identity.PodCompletionStartAnnotation());
  if (state_ == UpgradeState::kValidationRequired)
    text = AnnotationOf(after(), in.identity.ValidationStartAnnotation());
  const std::optional<absl::Time> began = ParseUnixSeconds(text);
  if (!began || *began > in.now + kClockSkewMax || *began + timeout <= in.now) return std::nullopt;
  return began;
}

// While the revision cannot be told, the upgrade under way is still that to the revision its stage names.
std::string Walk::TargetRevision() const {
  if (!driver.wanted_revision.empty()) return driver.wanted_revision;
  const std::optional<Stage> stage = ParseStage(AnnotationOf(view.node, in.identity.StageAnnotation()));
  return std::string(stage ? stage->revision : std::string_view());
}

void Walk::WriteStage(absl::Time began) {
  const std::string seconds = fmt::format("{}", absl::ToUnixSeconds(began));
  Annotate(in.identity.StageAnnotation(), fmt::format("{}@{}@{}", ToLabelValue(state_), seconds, TargetRevision()));
  if (state_ == UpgradeState::kWaitForJobsRequired) {
    Annotate(in.identity.PodCompletionStartAnnotation(), seconds);
  } else if (state_ == UpgradeState::kValidationRequired) {
    Annotate(in.identity.ValidationStartAnnotation(), seconds);
  }
}

void Walk::DropStage() {
  Unannotate(in.identity.StageAnnotation());
  Unannotate(in.identity.PodCompletionStartAnnotation());
  Unannotate(in.identity.ValidationStartAnnotation());
}

// nullopt: the present state has no deadline, so it needs no timer.
std::optional<absl::Duration> Walk::StageTimeout() const {
  const auto finite = [](absl::Duration timeout) {
    return timeout == absl::InfiniteDuration() ? std::nullopt : std::optional(timeout);
  };
  switch (TraitsOf(state_).limit) {
    case StageLimit::kNone: break;
    case StageLimit::kJobs:
      if (!in.policy.wait_for_completion || in.policy.wait_for_completion->pod_selector.empty()) break;
      return finite(in.policy.wait_for_completion->timeout);
    case StageLimit::kPodDeletion: return PodDeletion(in) ? finite(PodDeletion(in)->timeout) : std::nullopt;
    case StageLimit::kDrain: return in.policy.drain ? finite(in.policy.drain->timeout) : std::nullopt;
    case StageLimit::kPodRestart: {
      const absl::Duration evacuation = EvacuationTimeout(in).value_or(absl::InfiniteDuration());
      return finite(std::min(in.policy.deadlines.pod_restart, evacuation));
    }
    case StageLimit::kValidation: return finite(in.policy.deadlines.validation);
  }
  return std::nullopt;
}

Node Walk::WithAnnotationsAfter() const {
  Node node = view.node;
  if (!edited_) return node;
  for (const auto& [key, value] : OurPart(view.node, in.identity).annotations) node.annotations.erase(key);
  node.annotations.insert(edited_->annotations.begin(), edited_->annotations.end());
  return node;
}

void Walk::HoldCordon() {
  if (after().unschedulable) return;
  Edit().unschedulable = true;
  Unannotate(in.identity.InitiallyUnschedulableAnnotation());
}

const std::vector<Pod>* Walk::KnownPods() {
  // A list from before the cordon says nothing: the node took new pods until then.
  return view.node.unschedulable ? ReadPods() : nullptr;
}

const std::vector<Pod>* Walk::ReadPods() {
  verdict.pod_interest = true;
  return view.pods ? &*view.pods : nullptr;
}

Progress Walk::WaitForPods(absl::Time deadline) {
  return Wait(GateReason::kPodsUnknown, "the node's pods have not been read since it was cordoned",
              std::min(deadline, NextRead(in.now)));
}

// Who relies on the node's cordon after this patch (dep-F7): the other drivers whose upgrades are under way, and we,
// from cordon-required on. While we wait for a slot, our name stays where it was, and it takes the place of names that
// have become stale: nobody else would ever lift that cordon. The maintenance operator's cordon is its own to lift, so
// in requestor mode our name stands only on one that we made when it had been lifted too early (H13).
void Walk::UpdateCordonSet() {
  std::set<std::string> names = LiveCordonNames(view.node, in.identity.Name());
  bool ours = after().unschedulable && !internal::WasInitiallyUnschedulable(after(), in.identity);
  if (InRequestorMode()) {
    ours = ours && (!view.node.unschedulable || internal::IsInCordonSet(view.node, in.identity));
  } else if (state_ == UpgradeState::kUpgradeRequired) {
    const internal::Cordon cordon = internal::ReadCordon(view.node, in.identity);
    ours = ours && cordon.kind == internal::CordonKind::kUpgrade && !cordon.rival &&
           (names.empty() || internal::IsInCordonSet(view.node, in.identity));
  } else if (!IsInProgress(state_)) {
    ours = false;
  }
  if (ours) names.insert(in.identity.Name());
  internal::SetCordonNames(Edit(), names);
}

Verdict Walk::Finish() {
  if (const auto timeout = StageTimeout(); entered_ && timeout) WriteStage(in.now);
  if (edited_) {
    const Node before = OurPart(view.node, in.identity);
    if (*edited_ != before) {
      UpdateCordonSet();
      verdict.plan.patch = Difference(before, *edited_);
    }
  }
  if (!verdict.plan.empty()) {
    verdict.plan.node = view.node.name;
    verdict.plan.uid = view.node.uid;
    verdict.plan.resource_version = view.node.resource_version;
  }
  return std::move(verdict);
}

}  // namespace driverupgrade::inline v1
