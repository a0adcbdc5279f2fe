#include "whatif/preflight/preflight_rollout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "decide/admission/upgrade_budget.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/rollout_policy.h"
#include "fmt/format.h"
#include "whatif/gang_pods.h"
#include "whatif/preflight/policy_effects.h"
#include "whatif/what_if.h"

namespace driverupgrade::whatif {
namespace {

constexpr std::string_view kNewRevision = "preflight";

// Returns true if another obstacle of FindObstacles already reports the cause of this gate.
bool HasObstacleOfItsOwn(GateReason reason) {
  return reason == GateReason::kPaused || reason == GateReason::kFrozen || reason == GateReason::kRevisionUnknown ||
         TraitsOf(reason).ends_rollout;
}

// Returns the question for the same cluster after a change to the driver's template.
Question WithNewRevision(Question question) {
  std::vector<ControllerRevision>& revisions = question.cluster.controller_revisions;
  for (DaemonSet& set : question.cluster.daemon_sets) {
    if (set.ns != question.snapshot.ns || !question.snapshot.driver_labels.Matches(set.labels)) continue;
    ControllerRevision revision{
        .ns = set.ns, .name = fmt::format("{}-{}", set.name, kNewRevision), .owner_uid = set.uid};
    for (const ControllerRevision& one : revisions) {
      if (one.owner_uid == set.uid) revision.revision = std::max(revision.revision, one.revision);
    }
    ++revision.revision;
    revision.labels = {{"controller-revision-hash", std::string(kNewRevision)}};
    revisions.push_back(std::move(revision));
  }
  question.rollout_record.reset();
  return question;
}

// Returns true if no node is moving, or about to move, to another revision.
bool IsAtRest(const Report& report) {
  return std::none_of(report.nodes.begin(), report.nodes.end(), [](const NodeReport& node) {
    const UpgradeState state = node.plan.to();
    return state == UpgradeState::kUpgradeRequired || IsInProgress(state);
  });
}

std::set<std::string_view> NamesOf(const Report& report) {
  std::set<std::string_view> names;
  for (const NodeReport& node : report.nodes) names.insert(node.plan.node);
  return names;
}

class RolloutSearch {
 public:
  RolloutSearch(const Situation& situation, ObstacleList& obstacles) : situation_(situation), obstacles_(obstacles) {}

  void Run() {
    AddFieldsWithoutEffect(Warnings(situation_.question.policy));
    absl::StatusOr<Report> report = Answer(situation_.question);
    if (report.ok() && IsAtRest(*report)) report = Answer(WithNewRevision(situation_.question));
    if (!report.ok()) {
      Add(Severity::kError, "NoPlan", "The planner cannot create a plan for this cluster.",
          "Correct the error that the message names.", std::string(report.status().message()));
    } else {
      AddFieldsWithoutEffect(FieldsWithoutEffect(situation_, *report));
      CheckEffects(*report);
      CheckRollout(*report);
      CheckBegin(*report);
      CheckGroups(*report);
      CheckGangs(*report);
      CheckDevices(*report);
      CheckNodesWithoutDriver(*report);
    }
  }

 private:
  void Add(Severity severity, std::string_view code, std::string_view problem, std::string_view remedy,
           std::string object) {
    obstacles_.Add({severity, code, problem, remedy}, std::move(object));
  }

  void AddFieldsWithoutEffect(std::vector<std::string> fields) {
    for (std::string& field : fields) {
      Add(Severity::kWarning, "FieldWithoutEffect", "A field of the policy has no effect.", "Change or remove it.",
          std::move(field));
    }
  }

  void AddSelectsNothing(std::string what) {
    Add(Severity::kWarning, "SelectsNothing", "A selector of the policy matches no node or pod.", "Check the spelling.",
        std::move(what));
  }

  void CheckEffects(const Report& report) {
    // The planner checks health.podSelector only on upgraded nodes.
    for (std::string& selector : SelectorsWithoutPods(situation_)) AddSelectsNothing(std::move(selector));
    for (std::string& deadline : DeadlinesTooShort(situation_)) {
      Add(Severity::kWarning, "DeadlineTooShort",
          "Drivers took longer to start than the policy allows: nodes may fail.",
          "Set the deadline to twice the longest startup time observed.", std::move(deadline));
    }
    for (std::string& why : WhyAllAtOnce(situation_, report)) {
      Add(Severity::kWarning, "AllAtOnce",
          "Every node can be upgraded at the same time, so evicted pods may find no node.",
          "Lower maxParallelUpgrades or maxUnavailable, or add stages.", std::move(why));
    }
  }

  void CheckDevices(const Report& report) {
    const bool waits = situation_.question.policy.isolation.scope == IsolationScope::kDevices;
    for (const NodeReport& node : report.nodes) {
      if (node.why_not_devices.empty()) continue;
      Add(waits ? Severity::kError : Severity::kWarning, "DevicesUnfit",
          waits ? "Device isolation is not possible on the node: the node does not start."
                : "Device isolation is not possible on the node: the node is cordoned instead.",
          waits ? "Change what the message names, or choose isolation.scope: Auto." : "Change what the message names.",
          fmt::format("{}: {}", node.plan.node, node.why_not_devices));
    }
  }

  void CheckRollout(const Report& report) {
    for (const Finding& finding : report.findings) {
      if (finding.code == FindingCode::kSelectsNothing) AddSelectsNothing(finding.message);
    }
    if (!report.rollout) return;
    // An empty stage blocks the rollout only if a later stage has nodes, which then wait for the empty stage.
    const auto& stages = report.rollout->stages;
    const auto last = std::find_if(stages.rbegin(), stages.rend(), [](const auto& stage) { return stage.nodes > 0; });
    for (auto stage = stages.begin(); stage != stages.end(); ++stage) {
      if (stage->nodes > 0 || stage->name == kLastStage) continue;
      const std::string object =
          stage->why_left_out.empty() ? stage->name : fmt::format("{}: {}", stage->name, stage->why_left_out);
      if (stage < last.base()) {
        Add(Severity::kError, "StageWithoutNodes", "A stage has no node: the rollout never gets past it.",
            "Correct its nodeSelector, or remove the stage.", object);
      } else {
        Add(Severity::kWarning, "EmptyStage", "Neither this stage nor any later stage has a node.",
            "Correct its nodeSelector, or remove the stage.", object);
      }
    }
  }

  // Adds obstacles only if no node starts, because an administrator must then act. If any node starts, the waiting
  // nodes will have their turn.
  void CheckBegin(const Report& report) {
    std::map<GateReason, std::pair<int, std::string>> gates;
    for (const NodeReport& node : report.nodes) {
      // A node that is in progress, or is being released, will free capacity for the others.
      if (IsInProgress(node.plan.to()) || IsInProgress(node.plan.from)) return;
      if (!node.gate || HasObstacleOfItsOwn(node.gate->reason)) continue;
      auto& [count, detail] = gates[node.gate->reason];
      if (count++ == 0) detail = node.gate->detail.substr(0, node.gate->detail.find("; place "));
    }
    const auto is_opened_by_time = [](const auto& gate) { return TraitsOf(gate.first).opener == GateOpener::kClock; };
    if (std::all_of(gates.begin(), gates.end(), is_opened_by_time)) return;
    for (const auto& [reason, found] : gates) {
      Add(Severity::kError, "NothingBegins", "No node can start, so the rollout is blocked.",
          "Look up the gate: docs/operations.md#a-node-does-not-move",
          fmt::format("{}: {}, {}", found.first == 1 ? "1 node" : fmt::format("{} nodes", found.first),
                      ToString(reason), found.second));
    }
  }

  void CheckGroups(const Report& report) {
    const auto& rollout = situation_.question.policy.rollout;
    if (!rollout || !rollout->groups || rollout->groups->mode != GroupMode::kTogether) return;
    Tally fleet;
    fleet.total = static_cast<int>(report.nodes.size());
    const auto unavailable_max = internal::ComputeBudget(fleet, situation_.question.policy).unavailable_max;
    if (!unavailable_max) return;
    const std::set<std::string_view> ours = NamesOf(report);
    std::map<std::string, int> sizes;
    for (const Node& node : situation_.question.cluster.nodes) {
      const auto label = node.labels.find(rollout->groups->by);
      if (ours.contains(node.name) && label != node.labels.end()) ++sizes[label->second];
    }
    for (const auto& [group, size] : sizes) {
      if (size <= *unavailable_max) continue;
      Add(Severity::kError, "GroupTooLarge", "A group that starts together has more nodes than maxUnavailable allows.",
          "Raise maxUnavailable, or group by another label.",
          fmt::format("{}={}: {} nodes of {} allowed", rollout->groups->by, group, size, *unavailable_max));
    }
  }

  void CheckGangs(const Report& report) {
    const UpgradePolicy& policy = situation_.question.policy;
    std::set<std::string, std::less<>> ours;
    for (const NodeReport& node : report.nodes) ours.insert(node.plan.node);
    Tally fleet;
    fleet.total = static_cast<int>(report.nodes.size());
    const auto unavailable_max = internal::ComputeBudget(fleet, policy).unavailable_max;
    const bool together = policy.rollout && policy.rollout->gangs;
    // With stages, the nodes of a job might not all start together.
    const bool waits = together && policy.rollout->stages.empty() && policy.rollout->gangs->too_big == TooBig::kWait;
    for (const auto& [gang, pods] : PodsOfGangs(situation_, ours)) {
      std::set<std::string> nodes;
      for (const Pod& pod : pods) nodes.insert(pod.node_name);
      const int size = static_cast<int>(nodes.size());
      if (waits && unavailable_max && size > *unavailable_max) {
        Add(Severity::kError, "GangTooLarge",
            "A job runs on more nodes than maxUnavailable allows: its nodes do not start.",
            "Raise maxUnavailable, or set rollout.gangs.tooBig: Split.",
            fmt::format("{}: {} nodes of {} allowed", gang, size, *unavailable_max));
      } else if (!together && !policy.rollout.value_or(RolloutPolicy()).groups) {
        Add(Severity::kWarning, "GangInterruptedSeveralTimes",
            "The pods of a job run only together, but its nodes start one at a time: each start may interrupt the job.",
            "Set rollout.gangs, so that the job is interrupted only once.", fmt::format("{}: {} nodes", gang, size));
      }
    }
  }

  // Warns about nodes of NVIDIA's GPU Operator that no rollout includes, according to their labels. Does nothing for
  // other drivers.
  void CheckNodesWithoutDriver(const Report& report) {
    if (situation_.question.identity.Name() != "nvidia.com/gpu") return;
    const std::set<std::string_view> reached = NamesOf(report);
    for (const Node& node : situation_.question.cluster.nodes) {
      const auto is = [&](const char* label, std::string_view value) {
        const auto found = node.labels.find(label);
        return found != node.labels.end() && found->second == value;
      };
      if (is("nvidia.com/gpu.deploy.driver", "pre-installed")) {
        Add(Severity::kWarning, "DriverPreinstalled", "The driver is part of the node's image: no rollout changes it.",
            "Upgrade the image.", node.name);
        continue;
      }
      if (reached.contains(node.name) || !is("nvidia.com/gpu.present", "true")) continue;
      Add(Severity::kWarning, "GpuWithoutDriver", "The node has a GPU but no driver pod: no rollout includes it.",
          "Check that the DaemonSet's node selector and tolerations match the node.", node.name);
    }
  }

  const Situation& situation_;
  ObstacleList& obstacles_;
};

}  // namespace

void FindRolloutObstacles(const Situation& situation, ObstacleList& obstacles) {
  RolloutSearch(situation, obstacles).Run();
}

}  // namespace driverupgrade::whatif
