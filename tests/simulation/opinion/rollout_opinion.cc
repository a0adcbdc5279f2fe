#include "simulation/opinion/rollout_opinion.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "fmt/format.h"
#include "testing/invariants/start_times.h"

namespace driverupgrade::testing::internal {
namespace {

using driverupgrade::internal::RolloutRecord;
using State = UpgradeState;

constexpr absl::Duration kAboutNow = absl::Seconds(2);
constexpr NodeWay kAny{.open = true, .done = true, .failed = true, .left_out = true};

// How many failed nodes a stage goes on with, rounded down.
int Tolerated(const RolloutStage& stage, int nodes) {
  if (!stage.max_failures) return 0;
  if (const Count* count = std::get_if<Count>(&*stage.max_failures)) return count->value;
  return static_cast<int>(std::int64_t{std::get<Percent>(*stage.max_failures).value} * nodes / 100);
}

bool IsSkipped(const Scene& scene) {
  const auto skip = scene.node.labels.find(scene.facts.keys.skip);
  return skip != scene.node.labels.end() && skip->second == "true";
}

bool IsBeingConfigured(const Node& node) {
  const auto state = node.annotations.find("machineconfiguration.openshift.io/state");
  return state != node.annotations.end() && state->second != "Done";
}

bool Leaves(const Node& node) { return node.deletion_timestamp || !node.taints.empty(); }

// A node that is not Ready does not start unless an upgrade is requested. One that leaves, or that OpenShift configures,
// never does.
bool IsUnfit(const Scene& scene) {
  const auto requested = scene.node.annotations.find(scene.facts.upgrade_requested);
  const bool is_requested = requested != scene.node.annotations.end() && requested->second == "true";
  // A node that has failed may be repaired by another try.
  const bool has_started = IsMarked(scene.node, scene.facts.keys) || scene.node.annotations.contains(scene.facts.failed_revision);
  const bool is_lost = !scene.node.ready && !is_requested && !has_started;
  return is_lost || Leaves(scene.node) || IsBeingConfigured(scene.node);
}

bool IsInUse(const Scene& scene) {
  return scene.node.ready && !scene.driver_pods.empty() &&
         std::all_of(scene.driver_pods.begin(), scene.driver_pods.end(), IsReadyPod);
}

// Of one that would start: an administrator may want it left alone. Whoever ignores his cordon says so of nodes of which
// nothing else is to be said.
NodeWay WayOfWaiting(const Scene& scene, const DriverSeen& driver, bool may_be_under_way) {
  if (IsSkipped(scene)) return {.open = may_be_under_way, .left_out = true};
  if (IsUnfit(scene)) return {.open = true, .left_out = true};
  if (scene.policy.cordoned_nodes != CordonedNodes::kIgnore || !scene.IsAdministrators()) return {.open = true};
  // A cordon that the maintenance operator may have made for us is not his.
  const bool for_us = scene.AnyClaim() || scene.node.annotations.contains(scene.facts.keys.requestor_mode);
  const bool is_sure =
      !driver.none && !driver.unknown && !for_us && WhoRelies(scene.node, scene.facts.keys).empty();
  return {.open = may_be_under_way || !is_sure, .left_out = true};
}

NodeWay WayOfDone(const Scene& scene, const DriverSeen& driver, bool is_marked, const std::optional<Gate>& gate,
                  bool has_grant) {
  if (driver.old || is_marked) return WayOfWaiting(scene, driver, /*may_be_under_way=*/true);
  const bool stays = !driver.none && !driver.unknown && !driver.orphaned && !scene.AnyClaim() && !gate;
  // A grant that was not used counts as long as the node is as it was then.
  if (!stays) return kAny;
  return Leaves(scene.node) ? NodeWay{.open = has_grant, .left_out = true} : NodeWay{.open = has_grant, .done = true};
}

// By what stands on the node: whoever has no driver pod just now has failed at what it was to have then.
bool HasFailedBefore(const Scene& scene) {
  const auto failed = scene.node.annotations.find(scene.facts.failed_revision);
  if (failed == scene.node.annotations.end() || failed->second.empty()) return false;
  return std::none_of(scene.wanted.begin(), scene.wanted.end(),
                      [&](const auto& wanted) { return wanted.second == failed->second; });
}

NodeWay WayOfFailed(const Scene& scene, EngineTime time, const DriverSeen& driver, const std::optional<Gate>& gate) {
  // Its last patch is not settled, or its label, which others remove, is written later than it recovers.
  if ((gate && gate->reason == GateReason::kUnsettled) || !HasLabel(scene.node, scene.facts.keys)) return kAny;
  if (HasFailedBefore(scene)) return WayOfWaiting(scene, driver, /*may_be_under_way=*/true);
  if (SecondOpinion(scene, time).MayTryAgain()) return kAny;
  return IsSkipped(scene) ? NodeWay{.left_out = true} : NodeWay{.failed = true};
}

NodeWay WayOf(const Scene& scene, EngineTime time, const DriverSeen& driver, const std::optional<Gate>& gate,
              bool has_grant) {
  const std::optional<State> state = StateOf(scene.node, scene.facts.keys);
  if (!state) return kAny;
  switch (*state) {
    case State::kUnknown:
    case State::kPostMaintenanceRequired: return kAny;
    case State::kDone: {
      const auto& annotations = scene.node.annotations;
      const auto requested = annotations.find(scene.facts.upgrade_requested);
      const auto safe_load = annotations.find(scene.facts.keys.safe_load);
      const bool is_marked = (requested != annotations.end() && requested->second == "true") ||
                             (safe_load != annotations.end() && !safe_load->second.empty());
      return WayOfDone(scene, driver, is_marked, gate, has_grant);
    }
    case State::kUpgradeRequired:
      return WayOfWaiting(scene, driver, has_grant);
    case State::kFailed: return WayOfFailed(scene, time, driver, gate);
    default: return {.open = true};
  }
}

std::string Sickness(const Scene& scene, const RolloutHealth& health) {
  for (const SickCondition& sick : health.node_conditions) {
    const auto found = scene.node.conditions.find(sick.type);
    if (found != scene.node.conditions.end() && found->second == sick.status) return sick.type;
  }
  return "";
}

// The revision is the one that is wanted.
std::string TooManyRestarts(const Scene& scene, const DriverSeen& driver, int most) {
  for (const Pod& pod : scene.driver_pods) {
    const auto hash = pod.labels.find("controller-revision-hash");
    if (driver.wanted.empty() || hash == pod.labels.end() || hash->second != driver.wanted) continue;
    for (const auto* containers : {&pod.init_container_statuses, &pod.container_statuses}) {
      for (const ContainerStatus& one : *containers) {
        if (one.restart_count > most) return fmt::format("{} restarts", one.restart_count);
      }
    }
  }
  return "";
}

std::string UnreadyPod(const Scene& scene, const LabelSelector& selector) {
  bool any = false;
  for (const Pod& pod : scene.pods) {
    const bool ended = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
    if (!Selects(selector, pod.labels) || pod.deletion_timestamp || ended) continue;
    if (!IsReadyPod(pod)) return pod.ref.ToString() + " is not ready";
    any = true;
  }
  return any ? "" : "none of the chosen pods is there";
}

}  // namespace

std::string Describe(const RolloutNodeSeen& node) {
  std::string text = node.name + " may be";
  if (node.way.open) text += " open";
  if (node.way.done) text += " done";
  if (node.way.failed) text += " failed";
  if (node.way.left_out) text += " left-out";
  return text + (node.starts ? ", and starts" : "");
}

RolloutNodeSeen SeeForRollout(const Scene& scene, EngineTime time, const std::optional<Gate>& gate, bool has_grant) {
  const auto restart_pod = scene.node.annotations.find(scene.facts.keys.restart_pod);
  const DriverSeen driver =
      scene.Driver(restart_pod == scene.node.annotations.end() ? std::string() : restart_pod->second);
  const std::optional<State> state = StateOf(scene.node, scene.facts.keys);
  RolloutNodeSeen seen{.name = scene.node.name,
                       .labels = scene.node.labels,
                       .way = WayOf(scene, time, driver, gate, has_grant)};
  seen.waits = state == State::kUpgradeRequired && seen.way.IsOpen();
  // One that waits may hold a slot already, by a grant, by what the maintenance operator keeps for it, or by a patch of
  // which nobody knows whether it was applied.
  const bool unsettled = gate && gate->reason == GateReason::kUnsettled;
  seen.may_be_under_way =
      state != State::kUpgradeRequired || has_grant || unsettled || !scene.maintenances.empty();
  if (state == State::kDone && seen.way.IsDone()) seen.may_be_under_way = false;
  seen.out_of_service = scene.node.unschedulable || !scene.maintenances.empty();
  seen.way.in_use = IsInUse(scene);
  if (seen.way.done && !seen.way.in_use) seen.unwell = "it or its driver is not ready";
  if (!scene.policy.rollout || !scene.policy.rollout->health) return seen;
  const RolloutHealth& health = *scene.policy.rollout->health;
  if (seen.way.done) seen.sick = Sickness(scene, health);
  if (seen.sick.empty() && health.max_driver_restarts) {
    seen.sick = TooManyRestarts(scene, driver, *health.max_driver_restarts);
  }
  if (seen.way.done && seen.way.in_use && health.pod_selector) seen.unwell = UnreadyPod(scene, *health.pod_selector);
  return seen;
}

RolloutOpinion::RolloutOpinion(const RolloutPolicy& policy, const std::vector<RolloutNodeSeen>& nodes)
    : policy_(policy), nodes_(nodes), together_(policy.groups && policy.groups->mode == GroupMode::kTogether) {
  by_labels_ = std::all_of(policy.stages.begin(), policy.stages.end(), [](const RolloutStage& stage) {
    return std::holds_alternative<LabelSelector>(stage.nodes);
  });
  stages_.reserve(nodes.size());
  for (const RolloutNodeSeen& node : nodes) stages_.push_back(StageOf(node));
}

std::size_t RolloutOpinion::StageByLabels(const RolloutNodeSeen& node) const {
  const auto found = std::find_if(policy_.stages.begin(), policy_.stages.end(), [&](const RolloutStage& stage) {
    const LabelSelector* selector = std::get_if<LabelSelector>(&stage.nodes);
    return selector != nullptr && Selects(*selector, node.labels);
  });
  return static_cast<std::size_t>(found - policy_.stages.begin());
}

std::string RolloutOpinion::GroupOf(const RolloutNodeSeen& node) const {
  const auto label = node.labels.find(policy_.groups->by);
  // No label's value has a slash.
  return label == node.labels.end() ? "/" + node.name : label->second;
}

// A group that starts together is in the first stage that has one of its nodes.
std::size_t RolloutOpinion::StageOf(const RolloutNodeSeen& node) const {
  std::size_t stage = StageByLabels(node);
  if (!together_) return stage;
  for (const RolloutNodeSeen& other : nodes_) {
    if (GroupOf(other) == GroupOf(node)) stage = std::min(stage, StageByLabels(other));
  }
  return stage;
}

template <class F>
RolloutOpinion::Bounds RolloutOpinion::Count(std::optional<std::size_t> stage, F of_way) const {
  Bounds bounds;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (stage && stages_[i] != *stage) continue;
    const Bounds one = of_way(nodes_[i].way);
    bounds.least += one.least;
    bounds.most += one.most;
  }
  return bounds;
}

std::string RolloutOpinion::WhyWrongCounts(const RolloutStatus& told) const {
  if (told.stages.size() != policy_.stages.size() + 1) {
    return fmt::format("{} stages are told of, where there are {}", told.stages.size(), policy_.stages.size() + 1);
  }
  const auto why_not = [](const std::string& where, const char* what, int count, Bounds bounds) -> std::string {
    if (bounds.least <= count && count <= bounds.most) return "";
    return fmt::format("{}: {} nodes {} are told of, where there are {} to {}", where, count, what, bounds.least,
                       bounds.most);
  };
  const auto of = [&](const std::string& where, std::optional<std::size_t> stage, const RolloutStageStatus& counts) {
    const auto all = Count(stage, [](NodeWay way) { return Bounds{way.IsCounted(), way.MayBeCounted()}; });
    const auto done = Count(stage, [](NodeWay way) { return Bounds{way.IsDone() && way.in_use, way.done && way.in_use}; });
    const auto failed = Count(stage, [](NodeWay way) { return Bounds{way.HasFailed(), way.failed}; });
    std::string why = why_not(where, "in all", counts.nodes, all);
    if (why.empty()) why = why_not(where, "that are done", counts.done, done);
    return why.empty() ? why_not(where, "that have failed", counts.failed, failed) : why;
  };
  RolloutStageStatus sum;
  for (std::size_t i = 0; i < told.stages.size(); ++i) {
    const RolloutStageStatus& counts = told.stages[i];
    sum.nodes += counts.nodes;
    sum.done += counts.done;
    sum.failed += counts.failed;
    if (!by_labels_) continue;
    if (std::string why = of("stage " + counts.name, i, counts); !why.empty()) return why;
  }
  return of("all stages", std::nullopt, sum);
}

int RolloutOpinion::FailedAtLeast(std::size_t stage, const std::set<std::string>& waived) const {
  int failed = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    failed += stages_[i] == stage && nodes_[i].way.HasFailed() && !waived.contains(nodes_[i].name);
  }
  return failed;
}

// Why the stage may not soak; empty: it may.
std::string RolloutOpinion::WhyNotSoaking(std::size_t stage, const std::set<std::string>& waived) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (stages_[i] != stage) continue;
    const RolloutNodeSeen& node = nodes_[i];
    if (node.way.IsOpen()) return fmt::format("node {} has not ended", node.name);
    const bool is_waived = !node.way.in_use && waived.contains(node.name);
    if (node.way.IsDone() && !node.unwell.empty() && !is_waived) return fmt::format("node {}: {}", node.name, node.unwell);
  }
  const Bounds nodes = Count(stage, [](NodeWay way) { return Bounds{way.IsCounted(), way.MayBeCounted()}; });
  if (nodes.most == 0) return "it has no node";
  const int failed = FailedAtLeast(stage, waived);
  if (failed <= Tolerated(policy_.stages[stage], nodes.most)) return "";
  return fmt::format("{} of its nodes have failed", failed);
}

// While somebody is to come.
std::string RolloutOpinion::WhyToHalt(const RolloutRecord& record) const {
  const auto is_open = [](const RolloutNodeSeen& node) { return node.way.IsOpen(); };
  if (std::none_of(nodes_.begin(), nodes_.end(), is_open)) return "";
  for (const RolloutNodeSeen& node : nodes_) {
    const bool is_sick = !node.sick.empty() && node.way.IsDone();
    if (is_sick && !record.waived.contains(node.name)) return fmt::format("node {} is sick: {}", node.name, node.sick);
  }
  for (std::size_t i = 0; i < policy_.stages.size() && by_labels_; ++i) {
    const Bounds nodes = Count(i, [](NodeWay way) { return Bounds{way.IsCounted(), way.MayBeCounted()}; });
    const int failed = FailedAtLeast(i, record.waived);
    if (!policy_.stages[i].max_failures || failed <= Tolerated(policy_.stages[i], nodes.most)) continue;
    return fmt::format("{} nodes of stage {} have failed", failed, policy_.stages[i].name);
  }
  return "";
}

std::string RolloutOpinion::WhyWrongRecord(const RolloutRecord& record) const {
  if (record.halt) return record.soak_since ? "a stage soaks though the rollout is halted" : "";
  if (std::string why = WhyToHalt(record); !why.empty()) return "the rollout is not halted, but " + why;
  if (!record.soak_since || !by_labels_) return "";
  const auto stage = std::find_if(policy_.stages.begin(), policy_.stages.end(),
                                  [&](const RolloutStage& one) { return one.name == record.stage; });
  if (stage == policy_.stages.end()) return "";
  const std::string why = WhyNotSoaking(static_cast<std::size_t>(stage - policy_.stages.begin()), record.waived);
  return why.empty() ? "" : fmt::format("stage {} soaks, but {}", stage->name, why);
}

bool RolloutOpinion::MayHaltFor(const RolloutRecord& record) const {
  const auto may_be_sick = [&](const RolloutNodeSeen& node) {
    const bool is_unwell = node.way.done && !node.way.in_use;
    return (!node.sick.empty() || is_unwell) && !record.waived.contains(node.name);
  };
  if (std::any_of(nodes_.begin(), nodes_.end(), may_be_sick)) return true;
  // If nobody can tell who is in a stage, all that have failed may be in one.
  for (std::size_t i = 0; i < policy_.stages.size(); ++i) {
    if (!policy_.stages[i].max_failures) continue;
    const std::optional<std::size_t> stage = by_labels_ ? std::optional(i) : std::nullopt;
    const Bounds failed = Count(stage, [](NodeWay way) { return Bounds{way.HasFailed(), way.failed}; });
    const Bounds nodes = Count(stage, [](NodeWay way) { return Bounds{way.IsCounted(), way.MayBeCounted()}; });
    if (failed.most > Tolerated(policy_.stages[i], by_labels_ ? nodes.least : 0)) return true;
  }
  return false;
}

// A halt comes about for a reason, and goes by another policy, another revision, or an approval that has come since.
std::string RolloutOpinion::WhyWrongHalt(const RecordStep& step) const {
  if (step.before.revision != step.after.revision) return "";
  if (!step.before.halt) {
    const bool for_nothing = step.after.halt && !MayHaltFor(step.before);
    return for_nothing ? "the rollout is halted, but no node is sick or has failed" : "";
  }
  const driverupgrade::internal::Halt& halt = *step.before.halt;
  if (step.after.halt || halt.policy != step.policy) return "";
  const std::string stage = halt.stage.empty() ? step.before.stage : halt.stage;
  const std::string approval = fmt::format("{}@{}", stage, step.after.revision);
  if (!step.approvals.contains(approval)) return fmt::format("the halt is lifted without the approval {}", approval);
  return halt.seen.contains(approval) ? fmt::format("the halt is lifted by {}, which is older", approval) : "";
}

std::string RolloutOpinion::WhyWrongTime(const RolloutStatus& told, const RolloutRecord& record, absl::Time first,
                                         absl::Time last) const {
  const absl::Duration takes = TakesBy(record.durations, policy_);
  const bool opens = MayStartAt(policy_, takes, first);
  // Where it changes just then, nobody knows which of the two the engine went by.
  for (const absl::Time time : {first - kAboutNow, last, last + kAboutNow}) {
    if (MayStartAt(policy_, takes, time) != opens) return "";
  }
  if (opens == !told.closed) return "";
  return fmt::format("nodes that take {} {} start now, and the opposite is told", absl::FormatDuration(takes),
                     opens ? "may" : "may not");
}

// Beside one that is under way the others of its group go when they can.
bool RolloutOpinion::MayBeBegun(const std::string& group) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const RolloutNodeSeen& node) {
    return node.way.open && node.may_be_under_way && GroupOf(node) == group;
  });
}

std::string RolloutOpinion::WhyInPart() const {
  if (!together_) return "";
  for (const RolloutNodeSeen& started : nodes_) {
    if (!started.starts || started.out_of_service || MayBeBegun(GroupOf(started))) continue;
    for (const RolloutNodeSeen& other : nodes_) {
      if (!other.waits || other.starts || GroupOf(other) != GroupOf(started)) continue;
      return fmt::format("node {} starts, and node {} of its group does not", started.name, other.name);
    }
  }
  return "";
}

}  // namespace driverupgrade::testing::internal
