#include "upgradectl/change.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "decide/rollout/record.h"
#include "driverupgrade/rollout_policy.h"
#include "driverupgrade/upgrade_state.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "model/node_marks.h"
#include "upgradectl/json_view.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"
#include "whatif/what_if.h"
#include "wire/json_writer.h"

namespace upgradectl {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::Node;
using driverupgrade::PatchNodeParams;
using driverupgrade::Pod;
using driverupgrade::UpgradeState;
using driverupgrade::internal::NodeMarks;

// The result of a verb for one node: a patch, or a note that no change is needed.
struct NodeChange {
  std::optional<PatchNodeParams> patch = std::nullopt;
  std::string what = {};
};
using ChangeNode = absl::StatusOr<NodeChange> (*)(const Request& request, const Node& node, const NodeMarks& marks);

absl::Status Refuse(const Node& node, std::string_view why) {
  return absl::FailedPreconditionError(fmt::format("{}: {}", node.name, why));
}

PatchNodeParams PatchOf(const Node& node) {
  return {.name = node.name, .uid = node.uid, .resource_version = node.resource_version};
}

NodeChange SetLabel(const Node& node, const std::string& key, std::optional<std::string> value) {
  PatchNodeParams patch = PatchOf(node);
  patch.labels[key] = value;
  const auto before = node.labels.find(key);
  return {.patch = std::move(patch),
          .what = fmt::format("label {}: {} -> {}", key, before == node.labels.end() ? "none" : before->second,
                              value.value_or("none"))};
}

NodeChange SetAnnotation(const Node& node, const std::string& key, std::optional<std::string> value) {
  PatchNodeParams patch = PatchOf(node);
  patch.annotations[key] = value;
  const auto before = node.annotations.find(key);
  return {.patch = std::move(patch),
          .what = fmt::format("annotation {}: {} -> {}", key,
                              before == node.annotations.end() ? "none" : before->second, value.value_or("none"))};
}

bool IsAdmitted(const NodeMarks& marks) {
  const std::optional<UpgradeState> state = marks.State();
  return state && driverupgrade::IsInProgress(*state);
}

absl::StatusOr<NodeChange> Skip(const Request& request, const Node& node, const NodeMarks& marks) {
  if (marks.skip_upgrade.value()) return NodeChange{.what = "has the skip label already"};
  if (IsAdmitted(marks)) {
    return Refuse(node, fmt::format("is in {}: the skip label has an effect only before admission; autoUpgrade: false "
                                    "stops this node and all others",
                                    driverupgrade::ToString(*marks.State())));
  }
  return SetLabel(node, request.question.identity.SkipUpgradeLabel(), "true");
}

absl::StatusOr<NodeChange> Unskip(const Request& request, const Node& node, const NodeMarks&) {
  const std::string& label = request.question.identity.SkipUpgradeLabel();
  if (node.labels.find(label) == node.labels.end()) return NodeChange{.what = "has no skip label"};
  return SetLabel(node, label, std::nullopt);
}

absl::StatusOr<NodeChange> Retry(const Request& request, const Node& node, const NodeMarks& marks) {
  if (marks.State() == UpgradeState::kUpgradeRequired) return NodeChange{.what = "waits for its turn already"};
  if (marks.State() != UpgradeState::kFailed) return Refuse(node, "has not failed, so there is nothing to retry");
  return SetLabel(node, request.question.identity.StateLabel(),
                  std::string(driverupgrade::ToLabelValue(UpgradeState::kUpgradeRequired)));
}

absl::StatusOr<NodeChange> RequestUpgrade(const Request& request, const Node& node, const NodeMarks& marks) {
  if (marks.upgrade_requested.value()) return NodeChange{.what = "is already requested"};
  if (marks.State() == UpgradeState::kFailed) return Refuse(node, "has failed: retry it");
  // A request also starts a waiting node that is not Ready, which would otherwise wait until it is repaired.
  const bool waits = marks.State() == UpgradeState::kUpgradeRequired && node.ready;
  if (IsAdmitted(marks) || waits) {
    return Refuse(node, "is already being upgraded, or is waiting for its turn");
  }
  return SetAnnotation(node, request.question.identity.UpgradeRequestedAnnotation(), "true");
}

// Returns the pods that must leave the node before the driver is loaded: the pods that use the driver or, if the
// operator cannot identify them, all pods that can be evicted.
std::vector<std::string> PodsAtRisk(const Request& request, const Node& node) {
  std::vector<std::string> pods;
  for (const Pod& pod : request.question.cluster.pods) {
    const bool stays =
        driverupgrade::IsDaemonSetPod(pod) || pod.mirror || driverupgrade::IsFinished(pod) || pod.containers_ended;
    if (pod.node_name != node.name || stays) continue;
    const auto& uses_driver = request.question.snapshot.uses_driver;
    if (uses_driver && !uses_driver({}, pod).value_or(true)) continue;
    pods.push_back(pod.ref.ToString());
  }
  return pods;
}

absl::StatusOr<NodeChange> AllowLoad(const Request& request, const Node& node, const NodeMarks& marks) {
  if (!marks.safe_load.present()) return NodeChange{.what = "no driver waits to be loaded"};
  if (!node.unschedulable) return Refuse(node, "is not cordoned: workloads could start while the driver is loaded");
  const std::vector<std::string> pods = PodsAtRisk(request, node);
  if (!pods.empty()) {
    return Refuse(node, fmt::format("is not evacuated: {}{}", pods.front(),
                                    pods.size() > 1 ? fmt::format(" and {} more", pods.size() - 1) : ""));
  }
  return SetAnnotation(node, request.question.identity.SafeLoadAnnotation(), std::nullopt);
}

const std::map<std::string_view, ChangeNode>& NodeVerbs() {
  static const std::map<std::string_view, ChangeNode> verbs = {
      {"skip", Skip}, {"unskip", Unskip}, {"retry", Retry}, {"request", RequestUpgrade}, {"allow-load", AllowLoad}};
  return verbs;
}

bool IsOfRollout(const Request& request, const Node& node) {
  if (driverupgrade::internal::IsMarked(node, request.question.identity)) return true;
  const auto& pods = request.question.cluster.pods;
  return std::any_of(pods.begin(), pods.end(), [&](const Pod& pod) {
    return pod.node_name == node.name && pod.ref.ns == request.place.ns &&
           request.question.snapshot.driver_labels.Matches(pod.labels);
  });
}

absl::Status AddNode(ChangeNode change_node, const Request& request, const std::string& name, Change& change) {
  const auto& nodes = request.question.cluster.nodes;
  const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const Node& each) { return each.name == name; });
  if (node == nodes.end()) return absl::NotFoundError(fmt::format("{}: there is no such node", name));
  if (!node->unreadable.empty()) return Refuse(*node, fmt::format("cannot be read: {}", node->unreadable));
  if (!IsOfRollout(request, *node)) {
    return absl::NotFoundError(
        fmt::format("{}: has neither a driver pod nor a label of {}", name, request.question.identity.Name()));
  }
  const NodeMarks marks = driverupgrade::internal::DecodeMarks(*node, request.question.identity);
  const absl::StatusOr<NodeChange> of_node = change_node(request, *node, marks);
  if (!of_node.ok()) return of_node.status();
  const std::string line = Printable(fmt::format("node {}: {}", name, of_node->what));
  if (!of_node->patch) {
    change.notes.push_back(line);
  } else {
    change.patches.push_back({.path = fmt::format("/api/v1/nodes/{}", name),
                              .body = driverupgrade::FormatNodePatch(*of_node->patch),
                              .line = line});
  }
  return absl::OkStatus();
}

bool IsPaused(const PolicyObject& policy) {
  json::Document section;
  section.Parse(policy.section_json.c_str());
  const json::Value* paused = section.HasParseError() ? nullptr : Find(section, {"paused"});
  return paused != nullptr && paused->IsBool() && paused->GetBool();
}

std::string PolicyPatch(const PolicyResource& resource, const PolicyObject& policy, bool pause) {
  std::string patch = fmt::format(R"({{"paused":{}}})", pause ? "true" : "null");
  for (auto name = resource.path.rbegin(); name != resource.path.rend(); ++name) {
    patch = fmt::format(R"({{"{}":{}}})", *name, patch);
  }
  // The server refuses this patch, like a node patch, if the object has changed or was replaced.
  return fmt::format(R"({{"metadata":{{"uid":"{}","resourceVersion":"{}"}},{})", policy.uid, policy.resource_version,
                     patch.substr(1));
}

absl::StatusOr<Change> ChangePolicy(const Request& request, bool pause) {
  if (!request.place.policy || !request.facts.policy) {
    return absl::NotFoundError(
        fmt::format("{}: there is no such custom resource: the operator reads its policy from a file; set `paused: {}` "
                    "there, and restart the operator",
                    request.place.policy ? request.place.policy->ToString() : "policy", pause));
  }
  const PolicyResource& resource = *request.place.policy;
  const PolicyObject& policy = *request.facts.policy;
  if (policy.section_json.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("{}: has no upgrade policy, so nothing is upgraded", resource.ToString()));
  }
  Change change;
  if (IsPaused(policy) == pause) {
    change.notes.push_back(fmt::format("{}: is {} already", resource.ToString(), pause ? "paused" : "not paused"));
    return change;
  }
  change.patches.push_back(
      {.path = fmt::format("/apis/{}/{}/{}", resource.group_version, resource.resource, policy.name),
       .body = PolicyPatch(resource, policy, pause),
       .line = Printable(fmt::format("{}: paused: {} -> {}", resource.ToString(), !pause, pause)),
       .expected_field = pause ? "paused" : ""});
  return change;
}

bool IsStage(const driverupgrade::RolloutPolicy& rollout, const std::string& name) {
  return name == driverupgrade::kLastStage || std::any_of(rollout.stages.begin(), rollout.stages.end(),
                                                          [&](const auto& stage) { return stage.name == name; });
}

// Returns the DaemonSets of the driver, sorted by name. There may be several, such as one per kernel, and an approval
// on any of them counts.
std::vector<const driverupgrade::DaemonSet*> DriverDaemonSets(const Request& request) {
  std::vector<const driverupgrade::DaemonSet*> found;
  for (const driverupgrade::DaemonSet& set : request.question.cluster.daemon_sets) {
    const bool is_ours = set.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(set.labels);
    if (is_ours) found.push_back(&set);
  }
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return found;
}

// Returns the approvals in the DaemonSet's annotation.
std::string ApprovalsOn(const driverupgrade::DaemonSet& set, const Request& request) {
  const auto annotation = set.annotations.find(request.question.identity.ApprovedAnnotation());
  return annotation == set.annotations.end() ? "" : annotation->second;
}

std::vector<std::string> ApprovalsIn(const std::string& text) {
  return absl::StrSplit(text, absl::ByAnyChar(", \t"), absl::SkipEmpty());
}

bool HasApproval(const driverupgrade::DaemonSet& set, const Request& request, const std::string& approval) {
  const std::vector<std::string> approvals = ApprovalsIn(ApprovalsOn(set, request));
  return std::find(approvals.begin(), approvals.end(), approval) != approvals.end();
}

Patch PatchOfApprovals(const Request& request, const driverupgrade::DaemonSet& set, const std::string& before,
                       const std::string& after) {
  const std::string& key = request.question.identity.ApprovedAnnotation();
  const auto version = request.facts.resource_versions.find(set.ns + "/" + set.name);
  driverupgrade::internal::JsonWriter writer;
  writer.Object([&] {
    writer.ObjectMember("metadata", [&] {
      writer.Member("uid", set.uid);
      writer.Member("resourceVersion",
                    version == request.facts.resource_versions.end() ? std::string() : version->second);
      writer.ObjectMember("annotations", [&] {
        writer.Key(key);
        if (after.empty()) {
          writer.Null();
        } else {
          writer.String(after);
        }
      });
    });
  });
  const auto shown = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
  return {.path = fmt::format("/apis/apps/v1/namespaces/{}/daemonsets/{}", set.ns, set.name),
          .body = writer.Take(),
          .line = Printable(fmt::format("daemonset {}/{}: annotation {}: {} -> {}", set.ns, set.name, key,
                                        shown(before), shown(after)))};
}

Patch Give(const Request& request, const driverupgrade::DaemonSet& set, const std::string& approval) {
  const std::string before = ApprovalsOn(set, request);
  std::vector<std::string> approvals = ApprovalsIn(before);
  // Drops approvals for other revisions, because they have no effect and would accumulate.
  const std::string revision = approval.substr(approval.rfind('@'));
  std::erase_if(approvals, [&](const std::string& one) { return !one.ends_with(revision); });
  approvals.push_back(approval);
  return PatchOfApprovals(request, set, before, absl::StrJoin(approvals, ","));
}

Patch TakeBack(const Request& request, const driverupgrade::DaemonSet& set, const std::string& approval) {
  const std::string before = ApprovalsOn(set, request);
  std::vector<std::string> approvals = ApprovalsIn(before);
  std::erase(approvals, approval);
  return PatchOfApprovals(request, set, before, absl::StrJoin(approvals, ","));
}

const driverupgrade::RolloutStage* FindStage(const driverupgrade::RolloutPolicy& rollout, const std::string& name) {
  const auto stage =
      std::find_if(rollout.stages.begin(), rollout.stages.end(), [&](const auto& one) { return one.name == name; });
  return stage == rollout.stages.end() ? nullptr : &*stage;
}

// Returns an error if the stage needs no approval. While the rollout is not halted, only stages with `approval: Manual`
// need an approval.
absl::Status WhyNotWaitedFor(const driverupgrade::RolloutPolicy& rollout, const std::string& name) {
  const driverupgrade::RolloutStage* stage = FindStage(rollout, name);
  if (stage == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("{}: is the last stage, and the rollout is not halted: no node waits for its approval", name));
  }
  if (stage->approval == driverupgrade::Approval::kManual) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "{}: has approval: Automatic, and the rollout is not halted: the next stage starts without an approval", name));
}

bool AwaitsApprovalOf(const driverupgrade::RolloutStatus& status, const std::string& stage) {
  return status.next && status.next->reason == driverupgrade::GateReason::kApproval &&
         status.stages[static_cast<std::size_t>(status.open)].name == stage;
}

}  // namespace

absl::StatusOr<Change> Approve(const Request& request, const std::string& stage) {
  const auto& rollout = request.question.policy.rollout;
  if (!rollout || !IsStage(*rollout, stage)) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: the policy has no such stage{}", Printable(stage),
        request.policy_source.empty() ? ": set --policy or --policy-resource to the location of the policy" : ""));
  }
  const absl::StatusOr<driverupgrade::whatif::Report> report = driverupgrade::whatif::Answer(request.question);
  if (!report.ok()) return report.status();
  const std::vector<const driverupgrade::DaemonSet*> sets = DriverDaemonSets(request);
  if (sets.empty() || !report->rollout || report->rollout->revision.empty()) {
    return absl::FailedPreconditionError("the revision of the driver that is being rolled out is not known");
  }
  const auto record = driverupgrade::internal::ParseRecord(request.question.rollout_record).record;
  if (report->rollout->halted && record.halt && !record.halt->stage.empty() && record.halt->stage != stage) {
    return absl::FailedPreconditionError(
        fmt::format("{}: the rollout is halted in stage {}; an approval of that stage lifts the halt", Printable(stage),
                    Printable(record.halt->stage)));
  }
  if (!report->rollout->halted) {
    if (const absl::Status status = WhyNotWaitedFor(*rollout, stage); !status.ok()) return status;
  }
  const std::string approval = fmt::format("{}@{}", stage, report->rollout->revision);
  const bool is_approved =
      std::any_of(sets.begin(), sets.end(), [&](const auto* set) { return HasApproval(*set, request, approval); });
  Change change;
  if (request.question.rollout_record.value_or("").empty()) {
    change.notes.push_back(Printable(NoRecord(request) + ": it is not known whether the rollout was halted before."));
  }
  if (!is_approved && !report->rollout->halted && !AwaitsApprovalOf(*report->rollout, stage)) {
    change.notes.push_back(
        Printable(fmt::format("stage {} has not soaked yet; the approval takes effect after the soak", stage)));
  }
  if (!is_approved) {
    change.patches.push_back(Give(request, *sets.front(), approval));
  } else if (!report->rollout->halted) {
    change.notes.push_back(Printable(fmt::format("{} is already approved", approval)));
  } else {
    change.notes.emplace_back(
        "The approval was set before the halt, so it does not lift the halt. It is removed now; approve again in a "
        "minute.");
    for (const auto* set : sets) {
      if (HasApproval(*set, request, approval)) change.patches.push_back(TakeBack(request, *set, approval));
    }
  }
  return change;
}

absl::StatusOr<Change> ChangeOf(std::string_view verb, const Request& request, const std::vector<std::string>& nodes) {
  if (verb == "pause" || verb == "resume") return ChangePolicy(request, verb == "pause");
  const ChangeNode change_node = NodeVerbs().at(verb);
  Change change;
  for (const std::string& node : nodes) {
    if (const absl::Status status = AddNode(change_node, request, node, change); !status.ok()) return status;
  }
  return change;
}

absl::Status CheckAnswer(const Patch& patch, const PolicyResource& resource, std::string_view answer) {
  if (patch.expected_field.empty()) return absl::OkStatus();
  json::Document document;
  document.Parse<json::kParseIterativeFlag>(answer.data(), answer.size());
  const json::Value* value = document.HasParseError() ? nullptr : &document;
  for (const std::string& name : resource.path) {
    if (value != nullptr) value = Find(*value, {name.c_str()});
  }
  if (value != nullptr && Find(*value, {patch.expected_field.c_str()}) != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "{}: the server dropped `{}`, because the resource's schema does not have it; set autoUpgrade: false to stop all "
      "nodes",
      resource.ToString(), patch.expected_field));
}

}  // namespace upgradectl
