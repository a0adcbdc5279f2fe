// Creates random nodes with any labels, annotations and attempts.
#include <utility>

#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "property/random_cluster.h"

namespace driverupgrade::tests {
namespace {

// Returns a value of the state label: usually a state, including the states of requestor mode, and occasionally an
// invalid value.
std::string RandomState(SeededRandom& random) {
  if (random.Chance(4)) return random.Pick({"no-state", "Upgrade-Done", "upgrade-done "});
  const int states = static_cast<int>(kAllUpgradeStates.size());
  return std::string(ToLabelValue(kAllUpgradeStates[static_cast<std::size_t>(random.Below(states))]));
}

// Returns Unix seconds as a string: a past, present or future time, or a number that cannot be a time.
std::string RandomSeconds(SeededRandom& random) {
  if (random.Chance(15)) {
    return random.Pick({"", "x", "-5", "1.5", " 7", "99999999999999999999", "9223372036854775807", "0x10"});
  }
  const int ahead =
      random.Pick({-1'000'000, -100'000, -3'601, -700, -301, -31, -1, 0, 1, 59, 60, 61, 3'600, 1'000'000});
  return fmt::format("{}", absl::ToUnixSeconds(kRandomNow) + ahead);
}

std::string RandomStage(SeededRandom& random, const std::string& state) {
  if (random.Chance(10)) return random.Pick({"", "@", "@@", "a@b", "drain-required", "a@1@b@c"});
  const std::string stage = random.Chance(80) ? state : RandomState(random);
  return fmt::format("{}@{}@{}", stage, RandomSeconds(random), random.Pick({"new", "new", "new", "old", ""}));
}

void AddTimers(SeededRandom& random, const DriverIdentity& identity, const std::string& state, StringMap& annotations) {
  if (random.Chance(60)) annotations[identity.StageAnnotation()] = RandomStage(random, state);
  if (random.Chance(15)) annotations[identity.PodCompletionStartAnnotation()] = RandomSeconds(random);
  if (random.Chance(15)) annotations[identity.ValidationStartAnnotation()] = RandomSeconds(random);
}

void AddRequests(SeededRandom& random, const DriverIdentity& identity, Node& node) {
  if (random.Chance(12)) node.labels[identity.SkipUpgradeLabel()] = random.Pick({"true", "true", "false", "TRUE", ""});
  if (random.Chance(12))
    node.annotations[identity.UpgradeRequestedAnnotation()] = random.Pick({"true", "true", "false", ""});
  if (random.Chance(15)) node.annotations[identity.SafeLoadAnnotation()] = random.Pick({"true", "waiting", ""});
}

void AddFailures(SeededRandom& random, const DriverIdentity& identity, bool failed, StringMap& annotations) {
  const int chance = failed ? 70 : 8;
  if (random.Chance(chance)) annotations[identity.FailedRevisionAnnotation()] = random.Pick({"new", "new", "old", ""});
  if (random.Chance(chance)) {
    annotations[identity.FailureCauseAnnotation()] = "Failed to drain the node";
    annotations[identity.WaitingForAnnotation()] = "Failed: the driver pod is missing or out of date";
  }
  if (!random.Chance(chance)) return;
  annotations[identity.FailuresAnnotation()] =
      random.Chance(80) ? fmt::format("{}@{}", random.Between(0, 4), RandomSeconds(random))
                        : random.Pick({"", "3", "@", "x@y", "99999999999@1000", "2147483647@1000"});
}

void AddUpgradeAnnotations(SeededRandom& random, const DriverIdentity& identity, const std::string& state, Node& node) {
  AddTimers(random, identity, state, node.annotations);
  AddRequests(random, identity, node);
  AddFailures(random, identity, state == "upgrade-failed", node.annotations);
  if (random.Chance(20))
    node.annotations[identity.InitiallyUnschedulableAnnotation()] = random.Pick({"true", "true", ""});
  if (random.Chance(15)) {
    node.annotations[identity.RestartPodAnnotation()] =
        random.Chance(60) ? fmt::format("driver-{}-0-uid", node.name) : random.Pick({"", "gone-uid"});
  }
  if (random.Chance(8)) node.annotations[identity.RequestorModeAnnotation()] = "true";
}

// Adds marks of other drivers' upgrades, with or without the cordon set (dep-F7, dep-F8).
void AddOtherDrivers(SeededRandom& random, const DriverIdentity& identity, Node& node) {
  std::string names;
  const auto add_name = [&](const std::string& name) {
    if (random.Chance(40)) names += (names.empty() ? "" : random.Pick({",", ",", ", ", ",,"})) + name;
  };
  const bool in_set = random.Chance(45);
  if (in_set) add_name(identity.Name());
  for (const char* driver : {"ofed", "nic"}) {
    const DriverIdentity other = *DriverIdentity::Create("nvidia.com", driver);
    if (random.Chance(20)) node.labels[other.StateLabel()] = RandomState(random);
    if (random.Chance(10)) node.annotations[other.InitiallyUnschedulableAnnotation()] = "true";
    if (random.Chance(10)) node.annotations[other.StageAnnotation()] = "drain-required@5@x";
    if (in_set && random.Chance(50)) add_name(other.Name());
  }
  if (in_set && random.Chance(15)) add_name(random.Pick({"garbage", "a/b/c", "/", "example.com/gone"}));
  if (in_set) node.annotations[std::string(kCordonedByAnnotation)] = names;
}

PatchNodeParams RandomPatch(SeededRandom& random, const DriverIdentity& identity) {
  PatchNodeParams patch;
  if (random.Chance(80)) patch.labels[identity.StateLabel()] = RandomState(random);
  if (random.Chance(20)) patch.annotations[identity.InitiallyUnschedulableAnnotation()] = std::nullopt;
  if (random.Chance(20)) patch.annotations[identity.InitiallyUnschedulableAnnotation()] = "true";
  if (random.Chance(50)) patch.unschedulable = random.Chance(70);
  return patch;
}

absl::Time RandomPast(SeededRandom& random) {
  return kRandomNow - absl::Seconds(random.Pick({0, 1, 5, 29, 31, 45, 600}));
}

std::optional<Outcome> RandomOutcome(SeededRandom& random) {
  if (random.Chance(15)) return std::nullopt;
  return random.Pick({Outcome::kApplied, Outcome::kNotApplied, Outcome::kUnclear, Outcome::kConflict});
}

PodAttempt RandomPodAttempt(SeededRandom& random) {
  PodAttempt attempt{.count = random.Between(1, 6), .sent_at = RandomPast(random), .outcome = RandomOutcome(random)};
  if (!attempt.outcome) return attempt;
  attempt.answered_at = RandomPast(random);
  if (*attempt.outcome == Outcome::kApplied) return attempt;
  attempt.refusal = random.Pick({Refusal::kDisruptionBudget, Refusal::kThrottled, Refusal::kSeveralBudgets,
                                 Refusal::kNamespaceTerminating, Refusal::kOther});
  if (random.Chance(50)) attempt.budget = "web-budget";
  attempt.retry_after = absl::Seconds(random.Pick({0, 1, 10, 120}));
  attempt.message = random.Pick({"", "refused", "409 conflict"});
  return attempt;
}

void AddAttempts(SeededRandom& random, const DriverIdentity& identity, NodeView& view) {
  if (random.Chance(25)) {
    PatchAttempt attempt{
        .count = random.Between(1, 5), .sent_at = RandomPast(random), .outcome = RandomOutcome(random)};
    attempt.based_on = random.Chance(60) ? view.node.resource_version : random.Pick({"9", "older", ""});
    const int patches = random.Below(3);
    for (int i = 0; i < patches; ++i) attempt.possible.push_back(RandomPatch(random, identity));
    if (attempt.outcome) attempt.answered_at = RandomPast(random);
    if (random.Chance(50)) attempt.message = "409 conflict";
    view.attempts.patch = std::move(attempt);
  }
  const auto add = [&](const Pod& pod) {
    if (random.Chance(30)) view.attempts.pods[pod.ref.uid] = RandomPodAttempt(random);
  };
  for (const Pod& pod : view.driver_pods) add(pod);
  if (view.pods) {
    for (const Pod& pod : *view.pods) add(pod);
  }
}

}  // namespace

NodeView RandomNode(SeededRandom& random, const DriverIdentity& identity, const std::string& name,
                    Workloads workloads) {
  NodeView view{.node = {.name = name, .uid = name + "-uid"}};
  view.node.resource_version = random.Chance(95) ? fmt::format("{}", random.Between(10, 99)) : "opaque";
  const std::string state = random.Chance(10) ? "upgrade-required" : RandomState(random);
  if (!state.empty() || random.Chance(30)) view.node.labels[identity.StateLabel()] = state;
  view.node.unschedulable = random.Chance(45);
  view.node.ready = random.Chance(90);
  if (random.Chance(4)) view.node.deletion_timestamp = kRandomNow;
  if (random.Chance(4)) {
    view.node.taints = {{.key = random.Pick({"ToBeDeletedByClusterAutoscaler", "other"}), .effect = "NoSchedule"}};
  }
  if (random.Chance(4)) {
    const std::string state_of_work = random.Pick({"Working", "Done", "Degraded", "Drain_Required"});
    const bool by_sriov = state_of_work == "Drain_Required";
    view.node.annotations[by_sriov ? "sriovnetwork.openshift.io/state" : "machineconfiguration.openshift.io/state"] =
        state_of_work;
  }
  view.node.labels["kubernetes.io/hostname"] = name;
  view.node.annotations["example.com/note"] = "not ours";
  AddUpgradeAnnotations(random, identity, state, view.node);
  AddOtherDrivers(random, identity, view.node);
  view.driver_pods = RandomDriverPods(random, name);
  if (random.Chance(6)) {
    view.unscheduled_driver_pods = {testing::PodBuilder("drivers", "unbound-" + name).Pending().Build()};
    if (random.Chance(50)) view.unscheduled_driver_pods.front().unscheduled_message = "no room";
  }
  if (random.Chance(65)) {
    view.pods = std::move(workloads.pods);
    view.pods_using_driver = std::move(workloads.using_driver);
    view.hook_errors = std::move(workloads.hook_errors);
  }
  AddAttempts(random, identity, view);
  return view;
}

}  // namespace driverupgrade::tests
