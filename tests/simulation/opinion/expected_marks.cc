// What a plan is to leave on its node, and what it may ask the server for.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "simulation/opinion/second_opinion.h"

namespace driverupgrade::testing::internal {
namespace {

using State = UpgradeState;

// A plan may have waited for the ledger before anybody hears of it.
constexpr absl::Duration kToldLate = absl::Minutes(2);

bool IsUnderWay(State state) {
  return state != State::kUnknown && state != State::kUpgradeRequired && state != State::kDone;
}

bool HoldsCordon(State state) {
  return state == State::kCordonRequired || state == State::kWaitForJobsRequired ||
         state == State::kPodDeletionRequired || state == State::kDrainRequired || state == State::kPodRestartRequired;
}

StringMap Applied(StringMap values, const std::map<std::string, std::optional<std::string>>& changes) {
  for (const auto& [key, value] : changes) {
    if (value) {
      values[key] = *value;
    } else {
      values.erase(key);
    }
  }
  return values;
}

std::optional<std::string> TextOf(const StringMap& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

std::set<std::string> NamesIn(const std::string& text) {
  std::set<std::string> names;
  for (const absl::string_view name : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    names.emplace(absl::StripAsciiWhitespace(name));
  }
  return names;
}

std::string Say(const std::optional<std::string>& text) { return text ? fmt::format("`{:.80}`", *text) : "absent"; }

// In whole seconds; zero is without limit there.
absl::Duration WholeSeconds(absl::Duration timeout) {
  return timeout == absl::InfiniteDuration() ? absl::ZeroDuration() : absl::Ceil(timeout, absl::Seconds(1));
}

}  // namespace

void SecondOpinion::HoldCordon() {
  if (std::exchange(marks_.cordoned, true)) return;
  marks_.noted = false;
}

void SecondOpinion::NoteWhoseCordon() {
  if (!marks_.requestor_mode) marks_.noted = scene_.IsAdministrators();
}

void SecondOpinion::Touch() {
  switch (at_) {
    case State::kNodeMaintenanceRequired:
      if (facts_.requestor.empty()) return;
      marks_.requestor_mode = true;
      if (!scene_.node.unschedulable) marks_.noted = false;
      return;
    case State::kPodRestartRequired:
      HoldCordon();
      if (!driver_.wanted.empty() && !RestartsOnly()) marks_.restart_only.clear();
      return;
    case State::kValidationRequired:
      if (facts_.validation) HoldCordon();
      return;
    case State::kFailed:
      if (IsNewRevision()) return;
      if (!driver_.wanted.empty()) marks_.failed_revision = driver_.wanted;
      if (marks_.failures > 0) return;
      marks_.failures = 1;
      marks_.last_failure = scene_.now;
      return;
    default:
      if (HoldsCordon(at_)) HoldCordon();
  }
}

void SecondOpinion::Start() {
  NoteWhoseCordon();
  const bool requested = std::exchange(marks_.requested, false);
  marks_.failed_revision.reset();
  marks_.restart_only.clear();
  marks_.requestor_mode = !facts_.requestor.empty();
  // The pod is up to date, and is restarted all the same: since somebody wants it, or as nothing else would replace it.
  if ((!requested && driver_.failing == nullptr) || !driver_.to_restart.empty()) return;
  const Pod* restart = driver_.failing;
  for (const Pod& pod : scene_.driver_pods) {
    if (restart == nullptr && !pod.deletion_timestamp) restart = &pod;
  }
  if (restart == nullptr) return;
  marks_.restart_pod = restart->ref.uid;
  driver_ = scene_.Driver(*marks_.restart_pod);
}

void SecondOpinion::Fail() {
  std::string target = driver_.wanted;
  if (target.empty()) {
    const std::vector<std::string> stage =
        absl::StrSplit(TextOf(scene_.node.annotations, facts_.keys.stage).value_or(""), '@');
    if (stage.size() == 3) target = stage[2];
  }
  if (!target.empty()) marks_.failed_revision = target;
  ++marks_.failures;
}

void SecondOpinion::Go(State to) {
  const State from = std::exchange(at_, to);
  if (from == State::kFailed && to == State::kUpgradeRequired && IsNewRevision()) marks_.failures = 0;
  if (from == State::kUpgradeRequired) Start();
  entered_ = true;
  if (to == State::kUpgradeRequired) NoteWhoseCordon();
  const bool tried = from == State::kPodRestartRequired || from == State::kValidationRequired || from == State::kFailed;
  if (tried && to != State::kUpgradeRequired && to != State::kFailed) marks_.safe_load = false;
  if (from == State::kUpgradeRequired && to == State::kPodRestartRequired) HoldCordon();
  if (to == State::kUncordonRequired && marks_.requestor_mode) marks_.noted = false;
  if (to == State::kFailed) Fail();
  if (to == State::kDone) {
    const bool cordoned = marks_.cordoned;
    marks_ = {.cordoned = cordoned, .safe_load = marks_.safe_load, .requested = marks_.requested};
  }
}

std::string SecondOpinion::WhyWrongMarks(const NodePlan& plan) const {
  const Keys& keys = facts_.keys;
  const StringMap after = Applied(scene_.node.annotations, plan.patch->annotations);
  const bool cordoned = plan.patch->unschedulable.value_or(scene_.node.unschedulable);
  const auto is = [&](const std::string& key, bool expected) {
    const bool present = key == keys.safe_load ? !TextOf(after, key).value_or("").empty() : after.contains(key);
    if (present == expected) return std::string();
    return fmt::format("annotation {} is to be {}, and is {}", key, expected ? "there" : "absent",
                       Say(TextOf(after, key)));
  };
  const bool stays = plan.path.empty();
  // A state that was entered one by one has yet to be worked on, but for the restart, which may be.
  const bool either = at_ == State::kPodRestartRequired && one_by_one_;
  if (at_ != State::kDone && !either && cordoned != marks_.cordoned) {
    return fmt::format("it is to be {}cordoned", marks_.cordoned ? "" : "un");
  }
  if (!either) {
    if (std::string why = is(keys.initial, marks_.noted); !why.empty()) return why;
  }
  if (at_ != State::kUpgradeRequired || facts_.requestor.empty()) {
    const bool left = at_ == State::kUpgradeRequired && after.contains(keys.requestor_mode);
    if (std::string why = left ? "" : is(keys.requestor_mode, marks_.requestor_mode && at_ != State::kUpgradeRequired);
        !why.empty()) {
      return why;
    }
  }
  const bool requested = TextOf(after, facts_.upgrade_requested) == "true";
  if (requested != marks_.requested) return "the request for an upgrade is to be taken off when the upgrade starts";
  const bool loaded = marks_.safe_load && TextOf(after, keys.safe_load).value_or("").empty();
  if (loaded && !WhyNotLoaded().empty()) return WhyNotLoaded();
  const bool may_load = stays || plan.from == State::kFailed || IsUnderWay(at_);
  if (!may_load || !marks_.safe_load) {
    if (std::string why = is(keys.safe_load, marks_.safe_load); !why.empty()) return why;
  }
  if (TextOf(after, keys.restart_pod) != marks_.restart_pod) {
    return fmt::format("the pod to restart is to be {}, and is {}", Say(marks_.restart_pod),
                       Say(TextOf(after, keys.restart_pod)));
  }
  if (TextOf(after, facts_.failed_revision) != marks_.failed_revision) {
    return fmt::format("the failed revision is to be {}, and is {}", Say(marks_.failed_revision),
                       Say(TextOf(after, facts_.failed_revision)));
  }
  const std::string failures = TextOf(after, facts_.failures).value_or("");
  const bool counted = failures.starts_with(fmt::format("{}@", marks_.failures));
  if (marks_.failures > 0 ? !counted : at_ == State::kDone && !failures.empty()) {
    return fmt::format("the count of failures is to be {}, and is `{:.80}`", marks_.failures, failures);
  }
  if (std::string why = WhyWrongTimer(plan, after); !why.empty()) return why;
  return WhyWrongNames(cordoned, after);
}

std::string SecondOpinion::WhyWrongTimer(const NodePlan& plan, const StringMap& after) const {
  const std::optional<std::string> timer = TextOf(after, facts_.keys.stage);
  const std::optional<absl::Duration> timeout = Timeout(at_);
  if (plan.path.empty()) {
    // A timer of its own stands, unless pods have come for which the time begins anew.
    const bool renews = at_ == State::kPodRestartRequired || at_ == State::kValidationRequired;
    const bool changed = timer != TextOf(scene_.node.annotations, facts_.keys.stage);
    return changed && Began() && !renews ? fmt::format("its timer stands, and is made {}", Say(timer)) : "";
  }
  if (at_ == State::kUpgradeRequired && NamesIn(TextOf(after, facts_.keys.cordoned_by).value_or("")).contains(facts_.keys.name)) {
    // Without a label nothing else says that the node was not admitted.
    const std::string mark = fmt::format("{}@", ToLabelValue(at_));
    return timer.value_or("").starts_with(mark) ? "" : fmt::format("its mark is to be {}, and is {}", mark, Say(timer));
  }
  if (!timeout) return timer ? fmt::format("{} needs no timer, and has {}", ToString(at_), Say(timer)) : "";
  const std::vector<std::string> parts = absl::StrSplit(timer.value_or(""), '@');
  std::int64_t seconds = 0;
  const bool whole = parts.size() == 3 && absl::SimpleAtoi(parts[1], &seconds);
  const absl::Duration ago = scene_.now - absl::FromUnixSeconds(seconds);
  const bool now = whole && ago >= absl::ZeroDuration() && ago <= kToldLate;
  const bool of_this = now && parts[0] == ToLabelValue(at_) && (driver_.wanted.empty() || parts[2] == driver_.wanted);
  if (!of_this) return fmt::format("the timer of {} is to begin now, and is {}", ToString(at_), Say(timer));
  // As the Go library writes them.
  for (const auto& [state, key] : {std::pair(State::kWaitForJobsRequired, facts_.pod_completion_start),
                                   std::pair(State::kValidationRequired, facts_.validation_start)}) {
    const std::optional<std::string> start = TextOf(after, key);
    if (state == at_ ? start != parts[1] : start.has_value())
      return fmt::format("annotation {} is {}", key, Say(start));
  }
  return "";
}

// Who is to stand on the cordon: other drivers whose upgrades are under way, and we if it is ours.
std::string SecondOpinion::WhyWrongNames(bool cordoned, const StringMap& after) const {
  const Node& node = scene_.node;
  std::set<std::string> expected = OthersLiveNames(node, facts_.keys);
  const bool was_marked = IsMarked(node, facts_.keys);
  bool ours = cordoned && !after.contains(facts_.keys.initial);
  if (at_ == State::kUpgradeRequired) {
    if (!facts_.requestor.empty() || node.annotations.contains(facts_.keys.requestor_mode)) return "";
    if (UnnamedDriverMadeCordon(node, facts_.keys) || UnnamedDriverIsMaintained(node, facts_.keys)) return "";
    ours = ours && !scene_.IsAdministrators() && (expected.empty() || was_marked);
  } else if (marks_.requestor_mode) {
    ours = ours && (!node.unschedulable || was_marked);
  } else {
    ours = ours && IsUnderWay(at_);
  }
  if (ours) expected.insert(facts_.keys.name);
  const std::set<std::string> names = NamesIn(TextOf(after, facts_.keys.cordoned_by).value_or(""));
  if (names == expected) return "";
  return fmt::format("its cordon is to name [{}], and names [{:.80}]", fmt::join(expected, ","),
                     fmt::format("{}", fmt::join(names, ",")));
}

std::string SecondOpinion::WhyWrongRequests(const NodePlan& plan) const {
  const auto& path = plan.path;
  const bool maintained = plan.from == State::kNodeMaintenanceRequired && !path.empty();
  if (maintained && !plan.confirm) return "it goes on without a look at the NodeMaintenance";
  if (std::string why = WhyWrongRemovals(plan); !why.empty()) return why;
  for (const MaintenanceCall& call : plan.maintenance) {
    if (std::string why = WhyWrongCall(call); !why.empty()) {
      return fmt::format("{} NodeMaintenance {}: {}", ToString(call.kind), call.object.ToString(), why);
    }
  }
  return "";
}

std::string SecondOpinion::WhyWrongRemovals(const NodePlan& plan) const {
  const auto is_asked = [&](const Pod& pod) {
    return std::find(plan.remove.begin(), plan.remove.end(), pod.ref) != plan.remove.end();
  };
  if (std::none_of(scene_.driver_pods.begin(), scene_.driver_pods.end(), is_asked)) return "";
  if (at_ != State::kPodRestartRequired) return "a driver pod is to be deleted before its time";
  for (const Pod& pod : scene_.driver_pods) {
    const bool is_due = std::any_of(driver_.to_restart.begin(), driver_.to_restart.end(),
                                    [&](const Pod* one) { return one->ref.uid == pod.ref.uid; });
    if (is_asked(pod) && !is_due) return fmt::format("{} is to be deleted, and is as it should be", pod.ref.ToString());
  }
  const bool relies_on_node = scene_.Evacuates() && !RestartsOnly();
  if (relies_on_node && !plan.patch) return "its driver pod is to be deleted without a look at the node";
  return "";
}

std::string SecondOpinion::WhyWrongCall(const MaintenanceCall& call) const {
  using Kind = MaintenanceCall::Kind;
  const NodeMaintenance& object = call.object;
  if (call.kind == Kind::kCreate) {
    const UpgradePolicy& policy = scene_.policy;
    if (object.node_name != scene_.node.name || object.requestor_id != facts_.requestor)
      return "it is not for the node";
    if (object.drain.has_value() != policy.drain.has_value()) return "the drain is not that of the policy";
    if (policy.drain &&
        (object.drain->timeout != WholeSeconds(policy.drain->timeout) || object.drain->force != policy.drain->force ||
         object.drain->delete_empty_dir != policy.drain->delete_empty_dir)) {
      return "the drain is not that of the policy";
    }
    const auto& jobs = policy.wait_for_completion;
    const bool waits = jobs && jobs->pod_selector != LabelSelector();
    if (object.wait_for_pod_completion.has_value() != waits) return "the jobs are not those of the policy";
    const bool same = !waits || object.wait_for_pod_completion->timeout == WholeSeconds(jobs->timeout);
    return same ? "" : "the time for jobs is not that of the policy";
  }
  const auto now = std::find_if(scene_.maintenances.begin(), scene_.maintenances.end(),
                                [&](const NodeMaintenance& one) { return one.uid == object.uid; });
  if (now == scene_.maintenances.end()) return "there is none";
  if (call.kind == Kind::kJoin) return scene_.Claims(*now) ? "it is ours already" : "";
  if (!scene_.Claims(*now)) return "it is none of ours";
  if (call.kind == Kind::kReportFailure && at_ != State::kFailed) return "the node has not failed";
  const auto failed_by_us = [&](const Condition& one) {
    return one.type == "RequestorFailed" && one.status == "True" && one.message.starts_with(facts_.requestor + ":");
  };
  const bool withdraws = call.kind == Kind::kWithdrawFailure;
  if (withdraws && std::none_of(now->conditions.begin(), now->conditions.end(), failed_by_us))
    return "we reported none";
  if (call.kind == Kind::kDelete && now->requestor_id != facts_.requestor) return "another requestor made it";
  return "";
}

}  // namespace driverupgrade::testing::internal
