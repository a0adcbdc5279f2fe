// Guards: by which states a plan may go, and from which a node may not stay away.
#include "simulation/opinion/second_opinion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {
namespace {

using State = UpgradeState;

// Before which no time limit fails a node, and how late a node may be that goes on when its time is over.
constexpr absl::Duration kActiveMin = absl::Seconds(60);
constexpr absl::Duration kLate = absl::Seconds(5);
// A timer further ahead than that is nobody's.
constexpr absl::Duration kAheadMax = absl::Seconds(60);
constexpr absl::Duration kRetryPauseMax = absl::Hours(24);

bool Ends(State state) { return state == State::kDone || state == State::kFailed; }

// Where a node may go from a state in which it waits for something.
std::vector<State> Successors(State state) {
  switch (state) {
    case State::kUnknown: return {State::kUpgradeRequired, State::kDone};
    case State::kDone: return {State::kUpgradeRequired};
    case State::kCordonRequired: return {State::kWaitForJobsRequired};
    case State::kWaitForJobsRequired: return {State::kPodDeletionRequired, State::kDrainRequired};
    case State::kPodDeletionRequired: return {State::kPodRestartRequired, State::kDrainRequired, State::kFailed};
    case State::kDrainRequired: return {State::kPodRestartRequired, State::kFailed};
    case State::kNodeMaintenanceRequired: return {State::kPodRestartRequired};
    case State::kPodRestartRequired:
      return {State::kValidationRequired, State::kUncordonRequired, State::kDone, State::kFailed};
    case State::kValidationRequired:
      return {State::kUncordonRequired, State::kDone, State::kPodRestartRequired, State::kFailed};
    case State::kUncordonRequired: return {State::kDone, State::kPodRestartRequired, State::kUpgradeRequired};
    case State::kFailed:
      return {State::kUpgradeRequired, State::kValidationRequired, State::kUncordonRequired, State::kDone};
    case State::kUpgradeRequired:  // the budgets say when
    case State::kPostMaintenanceRequired: break;
  }
  return {};
}

// What the gate says hinders the node whatever its state waits for, or is not known yet.
bool IsHindered(const std::optional<Gate>& gate) {
  if (!gate) return false;
  switch (gate->reason) {
    case GateReason::kUnsettled:
    case GateReason::kPodsUnknown:
    case GateReason::kLedger:
    case GateReason::kHook:
    case GateReason::kUnreadable:
    case GateReason::kUnhandledState:
    case GateReason::kUnknownState:
    case GateReason::kOtherDriver:
    case GateReason::kFrozen: return true;
    default: return false;
  }
}

}  // namespace

SecondOpinion::SecondOpinion(const Scene& scene, EngineTime time) : scene_(scene), facts_(scene.facts), time_(time) {
  ReadMarks();
  driver_ = scene_.Driver(marks_.restart_pod.value_or(""));
}

void SecondOpinion::ReadMarks() {
  const Node& node = scene_.node;
  const auto text = [&](const std::string& key) -> std::optional<std::string> {
    const auto annotation = node.annotations.find(key);
    return annotation == node.annotations.end() ? std::nullopt : std::optional(annotation->second);
  };
  const Keys& keys = facts_.keys;
  marks_ = {.cordoned = node.unschedulable,
            .noted = text(keys.initial).has_value(),
            .safe_load = !text(keys.safe_load).value_or("").empty(),
            .requested = text(facts_.upgrade_requested) == "true",
            .requestor_mode = text(keys.requestor_mode).has_value(),
            .restart_pod = text(keys.restart_pod),
            .failed_revision = text(facts_.failed_revision),
            .restart_only = text(keys.restart_only).value_or("")};
  const std::vector<std::string> failures = absl::StrSplit(text(facts_.failures).value_or(""), absl::MaxSplits('@', 1));
  int count = 0;
  std::int64_t seconds = -1;
  const bool whole = failures.size() == 2 && absl::SimpleAtoi(failures[0], &count) &&
                     absl::SimpleAtoi(failures[1], &seconds) && count > 0 && seconds >= 0;
  const absl::Time last = absl::FromUnixSeconds(seconds);
  if (!whole || last > scene_.now + kAheadMax) return;
  marks_.failures = count;
  marks_.last_failure = last;
}

// Returns the state from which the node continues. Without a label the marks of an upgrade in progress decide.
std::optional<State> SecondOpinion::StateAtStart(const Node& node) const {
  const Keys& keys = facts_.keys;
  if (HasLabel(node, keys)) return StateOf(node, keys);
  Node cordoned = node;
  const bool works = !driver_.none && driver_.all_ready && !driver_.terminating;
  cordoned.unschedulable = node.unschedulable || (IsMarked(node, keys) && !works);
  const std::optional<State> state = StateOf(cordoned, keys);
  const bool is_current = driver_.to_restart.empty() && !driver_.unknown;
  if (state == State::kUnknown && node.annotations.contains(keys.requestor_mode) && scene_.AnyClaim()) {
    return Works() && !marks_.safe_load ? State::kPodRestartRequired : State::kNodeMaintenanceRequired;
  }
  // An administrator has uncordoned it, and its driver runs: it is looked at anew.
  if (state == State::kUpgradeRequired && !node.unschedulable && works) return State::kUnknown;
  // The node was evacuated before its driver pods were replaced.
  return state == State::kCordonRequired && is_current ? State::kPodRestartRequired : state;
}

std::string SecondOpinion::WhyWrong(const NodePlan& plan) {
  const std::optional<State> from = StateAtStart(scene_.node);
  if (!from) return "its label is no state, and it is to be left alone";
  // Its label may be withheld: then the plan speaks of the state that the node would have.
  at_ = HasLabel(scene_.node, facts_.keys) || !plan.path.empty() ? *from : plan.from;
  if (!plan.path.empty() && plan.path.back() == State::kUnknown) {
    const bool is_unwanted = driver_.none && IsMarked(scene_.node, facts_.keys);
    return is_unwanted ? "" : "it is released, and its driver is wanted";
  }
  // A failed node that holds no slot takes none on its way back: it goes at once.
  const bool recovers = at_ == State::kFailed && scene_.policy.failure_policy;
  const bool has_label = HasLabel(scene_.node, facts_.keys);
  const bool is_resumed = !has_label && IsBusy(at_);
  // An engine that has seen others remove the label passes several states at once.
  const bool may_pass = is_resumed || (!has_label && plan.path.size() > 1);
  one_by_one_ = scene_.policy.pacing == Pacing::kEveryState && !recovers && !may_pass;
  // Without a label only our name shows that the cordon is ours.
  if (is_resumed && !marks_.requestor_mode && scene_.IsAdministrators() && !IsMarked(scene_.node, facts_.keys)) {
    marks_.noted = true;
  }
  Touch();
  for (const State to : plan.path) {
    if (entered_ && Ends(at_)) return fmt::format("the plan goes on from {}", ToString(at_));
    if (std::string why = WhyNotGo(to); !why.empty()) {
      return fmt::format("{} -> {}: {}", ToString(at_), ToString(to), why);
    }
    Go(to);
    if (!one_by_one_ && !Ends(at_)) Touch();
  }
  if (at_ == State::kCordonRequired && !one_by_one_)
    return "the plan ends in cordon-required, where nothing is waited for";
  if (std::string why = WhyWrongRequests(plan); !why.empty()) return why;
  return plan.patch && !plan.patch->empty() ? WhyWrongMarks(plan) : "";
}

std::string SecondOpinion::WhyNotStay(const std::optional<Gate>& gate) {
  const std::optional<State> state = StateOf(scene_.node, facts_.keys);
  // A label that others remove is not written at once.
  if (!state || !HasLabel(scene_.node, facts_.keys) || !scene_.policy.auto_upgrade || IsHindered(gate)) return "";
  at_ = *state;
  sure_ = true;
  Touch();
  for (const State to : Successors(at_)) {
    if (WhyNotGo(to).empty())
      return fmt::format("{} is over, and the node has to go to {}", ToString(at_), ToString(to));
  }
  return "";
}

bool SecondOpinion::MayTryAgain() {
  at_ = State::kFailed;
  Touch();
  return WhyNotGo(State::kUpgradeRequired).empty();
}

std::string SecondOpinion::WhyNotGo(State to) const {
  switch (at_) {
    case State::kUnknown:
    case State::kDone: return to == State::kUpgradeRequired ? WhyNotRequired() : WhyNotDone();
    case State::kUpgradeRequired: return WhyNotStart(to);
    case State::kCordonRequired: return to == State::kWaitForJobsRequired ? "" : "jobs come first";
    case State::kWaitForJobsRequired: return WhyNotPastJobs(to);
    case State::kPodDeletionRequired: return WhyNotPastDeletion(to);
    case State::kDrainRequired: return WhyNotPastDrain(to);
    case State::kNodeMaintenanceRequired: return WhyNotPastMaintenance(to);
    case State::kPodRestartRequired: return WhyNotPastRestart(to);
    case State::kValidationRequired: return WhyNotPastValidation(to);
    case State::kUncordonRequired:
      if (to == State::kPodRestartRequired || to == State::kUpgradeRequired) return WhyNotBack(to);
      if (marks_.requestor_mode && scene_.AnyClaim()) return "we still claim a NodeMaintenance of it";
      if (to != State::kDone) return "there is nothing but its end";
      return Works() ? "" : "its driver is not ready";
    case State::kFailed: return WhyNotPastFailure(to);
    case State::kPostMaintenanceRequired: break;
  }
  return "the state is not ours to leave";
}

std::string SecondOpinion::WhyNotRequired() const {
  return driver_.old || marks_.safe_load || marks_.requested ? "" : "nothing asks for an upgrade";
}

bool SecondOpinion::Works() const { return driver_.InSync() && driver_.all_ready; }

// From uncordon-required. Another driver pod is replaced only once the limits admit the node again.
std::string SecondOpinion::WhyNotBack(State to) const {
  if (driver_.unknown) return "the revision to have is not known";
  if (Works()) return "its driver is ready";
  const bool queues = driver_.old && !marks_.requestor_mode && IsMarked(scene_.node, facts_.keys);
  if (to == State::kUpgradeRequired) return queues ? "" : "nothing has to be admitted";
  return queues ? "it has to be admitted again" : "";
}

// Keeps a node from its end if an upgrade of it was interrupted before its driver was proved.
std::string SecondOpinion::WhyNotProvedYet() const {
  const bool is_interrupted = IsMarked(scene_.node, facts_.keys) || marks_.requestor_mode || scene_.AnyClaim() ||
                              (scene_.node.unschedulable && marks_.noted);
  if (at_ != State::kUnknown || !is_interrupted) return "";
  if (driver_.terminating || !driver_.all_ready) return "its driver is not ready";
  return facts_.validation && !scene_.IsValidated() ? "it is not validated" : "";
}

std::string SecondOpinion::WhyNotDone() const {
  if (std::string why = WhyNotProvedYet(); !driver_.none && !why.empty()) return why;
  if (driver_.none) return "there is no driver pod";
  if (driver_.unknown) return "the revision to have is not known";
  if (WhyNotRequired().empty()) return "the driver is to be upgraded";
  return scene_.AnyClaim() ? "we still claim a NodeMaintenance of it" : "";
}

bool SecondOpinion::IsRestartEnough() const {
  if (!facts_.compares_images || !driver_.old || driver_.orphaned || marks_.safe_load || marks_.requested) return false;
  return std::all_of(driver_.to_restart.begin(), driver_.to_restart.end(), [&](const Pod* pod) {
    return ImageOf(pod->labels.at("controller-revision-hash")) == ImageOf(driver_.wanted);
  });
}

// Nobody is asked of a node whose upgrade has failed: what it needs beyond a restart may not have been done.
bool SecondOpinion::MustRestartOnly() const {
  return IsRestartEnough() && !driver_.terminating && StateOf(scene_.node, facts_.keys) != State::kFailed;
}

std::string SecondOpinion::WhyNotStart(State to) const {
  if (driver_.none) return "there is no driver pod";
  if (driver_.unknown) return "the revision to have is not known";
  if (!facts_.requestor.empty()) {
    return to == State::kNodeMaintenanceRequired ? "" : "the maintenance operator is to be asked for it";
  }
  if (to == State::kNodeMaintenanceRequired) return "there is no maintenance operator";
  if (scene_.node.unschedulable && UnnamedDriverMadeCordon(scene_.node, facts_.keys)) {
    return "another driver is being upgraded on it";
  }
  if (scene_.policy.cordoned_nodes == CordonedNodes::kIgnore && scene_.IsAdministrators()) {
    return "an administrator has cordoned it, and the policy leaves such nodes alone";
  }
  if (to == State::kPodRestartRequired) return IsRestartEnough() ? "" : "a restart is not enough";
  return MustRestartOnly() ? "a restart is enough" : "";
}

std::string SecondOpinion::WhyNotPastJobs(State to) const {
  const auto& jobs = scene_.policy.wait_for_completion;
  if (!jobs || jobs->pod_selector == LabelSelector()) {
    const State next = scene_.Deletion() ? State::kPodDeletionRequired : State::kDrainRequired;
    return to == next ? "" : fmt::format("{} is next", ToString(next));
  }
  if (to != State::kPodDeletionRequired) return "pod-deletion-required is next";
  if (IsOver(jobs->timeout)) return "";
  if (!scene_.node.unschedulable) return "its pods have not been read since it was cordoned";
  return scene_.AnyAwaited() ? "jobs are at work on it" : "";
}

std::string SecondOpinion::WhyNotPastDeletion(State to) const {
  const std::optional<PodDeletionPolicy> deletion = scene_.Deletion();
  if (!deletion) return to == State::kDrainRequired ? "" : "pod deletion is off, and the drain is next";
  const bool known = scene_.node.unschedulable;
  const PodsToGo to_go = scene_.ToDelete(*deletion);
  const bool gives_up = (known && !to_go.blocked.empty()) || IsOver(deletion->timeout);
  if (to == State::kPodRestartRequired) {
    if (!known) return "its pods have not been read since it was cordoned";
    return !to_go.blocked.empty() || scene_.AnyLeft(to_go.go, sure_ ? kLate : absl::ZeroDuration())
               ? "pods that use the driver are on it"
               : "";
  }
  if (!gives_up) return "pod deletion has not given up";
  // Where the time is over, the policy may say that the pods are deleted.
  const bool deletes = deletion->on_timeout == OnTimeout::kDelete && !scene_.MayBeStuck(to_go.go);
  if (sure_ && to_go.blocked.empty() && deletes) return "its pods are deleted";
  const State next = scene_.policy.drain ? State::kDrainRequired : State::kFailed;
  return to == next ? "" : fmt::format("{} is next", ToString(next));
}

std::string SecondOpinion::WhyNotPastDrain(State to) const {
  const std::optional<DrainPolicy>& drain = scene_.policy.drain;
  if (!drain) return to == State::kPodRestartRequired ? "" : "the drain is off";
  const bool known = scene_.node.unschedulable;
  const PodsToGo to_go = scene_.ToDrain();
  if (to == State::kPodRestartRequired) {
    if (!known) return "its pods have not been read since it was cordoned";
    return !to_go.blocked.empty() || scene_.AnyLeft(to_go.go, sure_ ? kLate : absl::ZeroDuration())
               ? "pods to be drained are on it"
               : "";
  }
  if (known && !to_go.blocked.empty()) return "";
  if (!IsOver(drain->timeout)) return "the drain goes on";
  const bool deletes = drain->on_timeout == OnTimeout::kDelete && !scene_.MayBeStuck(to_go.go);
  return sure_ && deletes ? "its pods are deleted" : "";
}

std::string SecondOpinion::WhyNotPastMaintenance(State to) const {
  if (to != State::kPodRestartRequired) return "its NodeMaintenance is waited for";
  return scene_.IsMaintained() ? "" : "its NodeMaintenance is not ready";
}

// The pods are of the revisions that were compared, and the target is the one.
bool SecondOpinion::RestartsOnly() const {
  const std::size_t at = marks_.restart_only.rfind('@');
  if (at == std::string::npos || driver_.wanted.empty()) return false;
  if (marks_.restart_only.substr(at + 1) != driver_.wanted) return false;
  const std::vector<std::string> compared = absl::StrSplit(marks_.restart_only.substr(0, at), ',');
  return std::all_of(driver_.to_restart.begin(), driver_.to_restart.end(), [&](const Pod* pod) {
    const auto hash = pod->labels.find("controller-revision-hash");
    return std::find(compared.begin(), compared.end(), hash == pod->labels.end() ? "" : hash->second) != compared.end();
  });
}

std::string SecondOpinion::WhyNotLoaded() const {
  if (!marks_.safe_load) return "";
  if (!marks_.cordoned) return "its driver waits to be loaded, and it is not cordoned";
  return scene_.Evacuated(marks_.requestor_mode) == Evacuation::kDone ? "" : "its driver waits to be loaded under pods";
}

std::string SecondOpinion::WhyNotFinish(State to) const {
  const State next = marks_.noted && !marks_.requestor_mode ? State::kDone : State::kUncordonRequired;
  if (!Works()) return to == State::kPodRestartRequired ? "" : "its driver is not ready";
  return to == next ? "" : fmt::format("{} is next", ToString(next));
}

// The new driver is there, and works.
std::string SecondOpinion::WhyNotProved(State to) const {
  if (!driver_.InSync()) return "its driver pods are not those that it is to have";
  if (!driver_.all_ready) return "its driver is not ready";
  if (std::string why = WhyNotLoaded(); !why.empty()) return why;
  if (!facts_.validation) return WhyNotFinish(to);
  return to == State::kValidationRequired ? "" : "it is to be validated";
}

std::string SecondOpinion::WhyNotPastRestart(State to) const {
  if (to != State::kFailed) return WhyNotProved(to);
  const bool works = driver_.InSync() && driver_.all_ready && WhyNotLoaded().empty();
  if (works) return "its driver is ready";
  if (driver_.InSync() && driver_.failing != nullptr && WhyNotLoaded().empty()) return "";
  if (sure_) return "it may wait for more than its driver";
  if (IsOver(*NodeRules(scene_.policy).deadlines.pod_restart)) return "";
  const bool evicts = scene_.Evacuates() && IsOver(scene_.EvacuationTimeout());
  return evicts ? "" : "its time is not over, and its driver does not keep restarting";
}

std::string SecondOpinion::WhyNotPastValidation(State to) const {
  if (!facts_.validation) return to == State::kFailed ? "validation is off" : WhyNotFinish(to);
  const bool valid = scene_.node.unschedulable && scene_.IsValidated();
  if (to == State::kFailed) {
    const bool loads = WhyNotLoaded().empty();
    if (!loads && scene_.Evacuates() && IsOver(scene_.EvacuationTimeout())) return sure_ ? "it evicts pods" : "";
    if (valid && loads) return "it is valid";
    return IsOver(scene_.policy.deadlines.validation) && loads ? "" : "its time is not over";
  }
  if (std::string why = WhyNotLoaded(); !why.empty()) return why;
  return valid ? WhyNotFinish(to) : "its validation pods are not ready";
}

bool SecondOpinion::IsNewRevision() const {
  return !driver_.wanted.empty() && marks_.failed_revision && *marks_.failed_revision != driver_.wanted;
}

bool SecondOpinion::IsRetryDue() const {
  const RetryPolicy& retry = scene_.policy.retry;
  if (marks_.failures == 0 || marks_.failures > retry.max_attempts) return false;
  absl::Duration pause = retry.backoff;
  for (int i = 1; i < marks_.failures && pause < kRetryPauseMax; ++i) pause *= 2;
  const absl::Time due = marks_.last_failure + std::min(pause, kRetryPauseMax);
  return sure_ ? due + kLate + time_.skew <= scene_.now : due <= scene_.now;
}

std::string SecondOpinion::WhyNotPastFailure(State to) const {
  if (IsNewRevision()) return to == State::kUpgradeRequired ? "" : "a new revision has come";
  const bool in_sync = driver_.InSync();
  if (in_sync && !WhyNotLoaded().empty()) return WhyNotLoaded();
  const bool works = in_sync && driver_.all_ready && (!facts_.validation || scene_.IsValidated());
  if (to != State::kUpgradeRequired) return works ? WhyNotProved(to) : "its driver has not recovered";
  if (works) return "its driver has recovered";
  return IsRetryDue() ? "" : "it is neither repaired nor due for another try";
}

std::optional<absl::Time> SecondOpinion::Began() const {
  const auto stage = scene_.node.annotations.find(facts_.keys.stage);
  if (entered_ || stage == scene_.node.annotations.end()) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(stage->second, '@');
  std::int64_t seconds = -1;
  if (parts.size() != 3 || parts[0] != ToLabelValue(at_) || !absl::SimpleAtoi(parts[1], &seconds)) return std::nullopt;
  if (seconds < 0 || (!driver_.wanted.empty() && parts[2] != driver_.wanted)) return std::nullopt;
  const absl::Time began = absl::FromUnixSeconds(seconds);
  return began <= scene_.now + kAheadMax ? std::optional(began) : std::nullopt;
}

bool SecondOpinion::IsOver(absl::Duration timeout) const {
  const std::optional<absl::Time> began = Began();
  if (!began || timeout == absl::InfiniteDuration()) return false;
  const absl::Duration active_min = std::min(timeout, kActiveMin);
  if (sure_) return *began + timeout + kLate + time_.skew <= scene_.now && time_.active >= active_min + kLate;
  return *began + timeout <= scene_.now && time_.active + time_.skew >= active_min;
}

// nullopt: the state has none, so it needs no timer.
std::optional<absl::Duration> SecondOpinion::Timeout(State state) const {
  absl::Duration timeout = absl::InfiniteDuration();
  const UpgradePolicy& policy = scene_.policy;
  switch (state) {
    case State::kWaitForJobsRequired:
      if (policy.wait_for_completion && policy.wait_for_completion->pod_selector != LabelSelector()) {
        timeout = policy.wait_for_completion->timeout;
      }
      break;
    case State::kPodDeletionRequired:
      if (const auto deletion = scene_.Deletion()) timeout = deletion->timeout;
      break;
    case State::kDrainRequired:
      if (policy.drain) timeout = policy.drain->timeout;
      break;
    case State::kPodRestartRequired:
      timeout = std::min(*NodeRules(policy).deadlines.pod_restart, scene_.EvacuationTimeout());
      break;
    case State::kValidationRequired: timeout = policy.deadlines.validation; break;
    default: break;
  }
  return timeout == absl::InfiniteDuration() ? std::nullopt : std::optional(timeout);
}

}  // namespace driverupgrade::testing::internal
