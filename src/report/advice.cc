#include "report/advice.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

constexpr char kNodeDoesNotMove[] = "docs/operations.md#a-node-does-not-move";
constexpr char kStages[] = "docs/operations.md#a-rollout-in-stages";
constexpr char kBlocked[] = "docs/runbooks/drain-blocked.md";
constexpr char kNodeFailed[] = "docs/runbooks/node-failed.md";
constexpr char kPausedTooLong[] = "docs/runbooks/paused-too-long.md";
constexpr char kPolicyRollout[] = "docs/policy.md#rollout";

// A command starts with `upgradectl`, with `kubectl`, or with one of these words:
//   - $POLICY FIELD VALUE: sets a field of the policy
//   - $POD VERB: runs `kubectl VERB` on the pod of the gate
//   - $WITH_POD KINDS: lists objects in that pod's namespace
//   - $PODS: lists the pods on the node
//   - $DRIVER VERB: runs `kubectl VERB` on the node's driver pod
//   - $DAEMONSETS: lists the DaemonSets of the driver
//   - $LEDGER: shows the ConfigMap of the ledger
// $NODE, $STAGE and $STATE stand for the node, the stage to approve and the state label.
struct Row {
  GateReason reason;
  std::string_view text;
  std::array<std::string_view, 2> commands = {};
  std::string_view page = kNodeDoesNotMove;
};

constexpr Row kRows[] = {
    {GateReason::kMaxParallel,
     "Wait until nodes in progress finish. Check for failed nodes, and for nodes cordoned by other clients.",
     {"upgradectl status"}},
    {GateReason::kMaxUnavailable,
     "Wait until nodes in progress finish. Check for failed nodes, and for nodes cordoned by other clients.",
     {"upgradectl status"}},
    {GateReason::kMaxFailures,
     "Repair the failed nodes, and retry them.",
     {"upgradectl status", "upgradectl retry FAILED-NODE"},
     kNodeFailed},
    {GateReason::kPaused, "The policy is paused; resume it to let nodes start.", {"upgradectl resume"}, kPausedTooLong},
    {GateReason::kLedger,
     "Wait a few seconds. If the gate stays, check that the operator may read and write its ConfigMap.",
     {"$LEDGER"},
     "docs/operations.md#the-ledger"},
    {GateReason::kHalted,
     "Check the upgraded nodes. If they are healthy, approve the stage.",
     {"upgradectl status", "upgradectl approve $STAGE"},
     kStages},
    {GateReason::kWindow, "Wait until the window opens."},
    {GateReason::kNoWindow,
     "Change windows, closed or finishBy in the policy, or find out why nodes take longer than a window.",
     {"upgradectl status"},
     kPolicyRollout},
    {GateReason::kStage,
     "Wait for the nodes that start earlier, and check whether any of them failed.",
     {"upgradectl status"},
     kStages},
    {GateReason::kSoak, "Wait until the soak time has passed."},
    {GateReason::kApproval,
     "Check the upgraded nodes. If they are healthy, approve the stage.",
     {"upgradectl status", "upgradectl approve $STAGE"},
     kStages},
    {GateReason::kGroup,
     "Wait for the nodes that start earlier, and check whether any of them failed.",
     {"upgradectl status"},
     kStages},
    {GateReason::kGangRuns,
     "Wait until the job ends, or save its work and set the annotation driverupgrade/may-stop=true on its pods.",
     {"$PODS"},
     "docs/policy.md#gangs"},
    {GateReason::kSkipLabel, "An administrator excluded the node from upgrades.", {"upgradectl unskip $NODE"}},
    {GateReason::kCordoned,
     "An administrator cordoned the node, and the policy leaves such nodes alone.",
     {"kubectl uncordon $NODE"}},
    {GateReason::kNodeNotReady,
     "Repair the node; it then starts. If its driver is the cause, start it anyway.",
     {"kubectl describe node $NODE", "upgradectl request $NODE"}},
    {GateReason::kNodeTainted,
     "Remove the taint, or add a toleration for it to the driver's DaemonSet. If the driver may be lost, start the "
     "node "
     "anyway.",
     {"kubectl describe node $NODE", "upgradectl request $NODE"}},
    {GateReason::kNodeLeaves,
     "No action is needed: the node is about to leave the cluster.",
     {"kubectl describe node $NODE"}},
    {GateReason::kMachineConfig,
     "Wait for the Machine Config Operator. If the gate stays, check the MachineConfigPools.",
     {"kubectl get machineconfigpools", "kubectl describe node $NODE"}},
    {GateReason::kFrozen,
     "Automatic upgrades are off; set autoUpgrade to true.",
     {"$POLICY autoUpgrade true"},
     kPausedTooLong},
    {GateReason::kOtherDriver,
     "Check the progress of the other driver's upgrade, or of the program that the detail names. If that program no "
     "longer runs, remove its annotation from the node.",
     {"kubectl describe node $NODE"}},
    {GateReason::kUnsettled,
     "Wait a few seconds. If the gate stays, read the API server's response in the detail; the cause is often a "
     "missing permission."},
    {GateReason::kUnknownState,
     "The value of the label is not a state. Remove the label: the operator then treats the node as new.",
     {"kubectl label node $NODE $STATE-"}},
    {GateReason::kUnreadable,
     "Compare the object with the API server's copy, and check for a proxy that changes it.",
     {"kubectl get node $NODE -o yaml"},
     "docs/operations.md#an-object-cannot-be-read"},
    {GateReason::kUnhandledState,
     "The operator does not handle this state. Configure it for requestor mode, or upgrade the node in place.",
     {"kubectl label node $NODE $STATE=upgrade-required --overwrite"}},
    {GateReason::kRevisionUnknown,
     "Check that the DaemonSet's node selector, affinity and tolerations match the node, and that its controller has "
     "run.",
     {"$DAEMONSETS"}},
    {GateReason::kMaintenance, "Check the operator that the detail names.", {"kubectl describe nodemaintenances -A"}},
    {GateReason::kPodsUnknown,
     "Wait a few seconds. If the gate stays, the operator lacks permission to read these pods.",
     {"$PODS"}},
    {GateReason::kJobs,
     "Wait until the jobs finish, or stop them.",
     {"$PODS"},
     "docs/operations.md#jobs-that-are-waited-for"},
    {GateReason::kPodsTerminating,
     "Check the pod's grace period, its finalizers and the kubelet.",
     {"$POD describe"},
     kBlocked},
    {GateReason::kDisruptionBudget,
     "Add ready pods on other nodes, or change the budget to allow a disruption. Deleting the pod bypasses budgets.",
     {"$WITH_POD pods,poddisruptionbudgets -o wide", "$POD delete"},
     kBlocked},
    {GateReason::kSeveralBudgets,
     "Let only one budget select the pod, or delete the pod, which bypasses budgets.",
     {"$WITH_POD poddisruptionbudgets", "$POD delete"},
     kBlocked},
    {GateReason::kEvictionRefused,
     "The API server refuses the eviction, often because of a webhook or a policy; the gate shows its reason.",
     {"kubectl get validatingwebhookconfigurations", "$POD describe"},
     kBlocked},
    {GateReason::kUndeletablePods,
     "The policy does not allow evicting these pods (force, deleteEmptyDir): delete them yourself.",
     {"$POD delete"},
     kBlocked},
    {GateReason::kHook, "Check the operator that the detail names."},
    {GateReason::kDevicesTainted,
     "Wait a few seconds until the taint takes effect. If the gate stays, read the API server's response in the "
     "detail."},
    {GateReason::kDevicesUnfit,
     "Remove the cause, or set isolation.scope to Auto, so that such nodes are cordoned.",
     {"$POLICY isolation.scope Auto"},
     "docs/policy.md#isolation"},
    {GateReason::kDevicesInUse,
     "Wait until the pod runs on the node or is deleted. If it stays Pending, find out why.",
     {"$POD describe"}},
    {GateReason::kDriverPodMissing,
     "Check that the DaemonSet's node selector, affinity and tolerations match the node, and that its controller has "
     "run.",
     {"$DAEMONSETS"}},
    {GateReason::kDriverPodTerminating,
     "Check the image and the log of the driver pod.",
     {"$DRIVER describe pod", "$DRIVER logs --all-containers"}},
    {GateReason::kDriverPodNotReady,
     "Check the image and the log of the driver pod.",
     {"$DRIVER describe pod", "$DRIVER logs --all-containers"}},
    {GateReason::kDevicesMissing,
     "Check the DRA plugin on the node and the devices that it publishes.",
     {"$PODS", "kubectl get resourceslices --field-selector spec.nodeName=$NODE"}},
    {GateReason::kSafeLoad,
     "Evacuate the node, then allow its driver to load.",
     {"$PODS", "upgradectl allow-load $NODE"},
     "docs/operations.md#safe-load"},
    {GateReason::kValidation, "Check the validation pods on the node.", {"$PODS"}},
    {GateReason::kFailed,
     "Remove the cause shown in the history, then retry the node.",
     {"upgradectl retry $NODE"},
     kNodeFailed},
};

constexpr bool RowsAreInOrder() {
  if (std::size(kRows) != kGates.size()) return false;
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].reason != static_cast<GateReason>(i)) return false;
  }
  return true;
}
static_assert(RowsAreInOrder(), "every gate has a row, in the order of the enumeration");

constexpr Row kEmptyStage = {
    GateReason::kStage,
    "The open stage has no node that counts: correct its nodeSelector, or find out why its nodes are left out.",
    {"upgradectl status"},
    kStages};

const GateSubject* SubjectOf(const Gate& gate, GateSubjectKind kind) {
  return gate.subject && gate.subject->kind == kind ? &*gate.subject : nullptr;
}

// Returns the stage of an approval: `canary` for `canary@5d4c9`.
std::string StageOf(const Gate& gate) {
  const GateSubject* approval = SubjectOf(gate, GateSubjectKind::kApproval);
  return approval == nullptr ? "STAGE" : approval->name.substr(0, approval->name.rfind('@'));
}

void Replace(std::string_view name, std::string_view value, std::string& text) {
  const std::size_t at = text.find(name);
  if (at != std::string::npos) text.replace(at, name.size(), value);
}

// Fills in the commands of one gate.
class Filler {
 public:
  Filler(const DriverIdentity& identity, const Gate& gate, const std::string& node, const CommandMaker& maker)
      : identity_(identity), gate_(gate), node_(node), maker_(maker) {}

  // Returns an empty string if the command does not apply to this gate.
  std::string Command(std::string_view text) const {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view first = text.substr(0, space);
    const std::string_view rest = text.substr(std::min(space + 1, text.size()));
    if (first == "upgradectl") return Upgradectl(rest);
    if (first == "kubectl") return Filled(text);
    if (first == "$POLICY") return maker_.SetPolicy(rest.substr(0, rest.find(' ')), rest.substr(rest.find(' ') + 1));
    if (first == "$POD") return Pod(rest);
    if (first == "$WITH_POD") return WithPod(rest);
    if (first == "$PODS") return PodsOnNode();
    if (first == "$DRIVER") return DriverPod(rest);
    if (first == "$DAEMONSETS") return maker_.DriverDaemonSets();
    return first == "$LEDGER" ? maker_.Ledger() : "";
  }

 private:
  std::string Filled(std::string_view text) const {
    if (node_.empty() && text.find("$NODE") != std::string_view::npos) return "";
    std::string filled(text);
    Replace("$NODE", node_, filled);
    Replace("$STAGE", StageOf(gate_), filled);
    Replace("$STATE", identity_.StateLabel(), filled);
    return filled;
  }
  std::string Upgradectl(std::string_view text) const {
    const std::string filled = Filled(text);
    if (filled.empty()) return "";
    const std::size_t space = std::min(filled.find(' '), filled.size());
    return maker_.Upgradectl(filled.substr(0, space), filled.substr(std::min(space + 1, filled.size())));
  }
  std::string PodsOnNode() const {
    return node_.empty() ? "" : fmt::format("kubectl get pods -A -o wide --field-selector spec.nodeName={}", node_);
  }
  std::string Pod(std::string_view verb) const {
    const GateSubject* pod = SubjectOf(gate_, GateSubjectKind::kPod);
    return pod == nullptr ? PodsOnNode() : fmt::format("kubectl {} pod -n {} {}", verb, pod->ns, pod->name);
  }
  std::string WithPod(std::string_view kinds) const {
    const GateSubject* pod = SubjectOf(gate_, GateSubjectKind::kPod);
    const std::size_t options = std::min(kinds.find(' '), kinds.size());
    return fmt::format("kubectl get {} {}{}", kinds.substr(0, options), pod == nullptr ? "-A" : "-n " + pod->ns,
                       kinds.substr(options));
  }
  std::string DriverPod(std::string_view verb) const {
    std::string command = maker_.DriverPod(verb);
    const GateSubject* pod = SubjectOf(gate_, GateSubjectKind::kPod);
    if (!command.empty() || pod == nullptr) return command;
    return fmt::format("kubectl {} -n {} {}", verb, pod->ns, pod->name);
  }

  const DriverIdentity& identity_;
  const Gate& gate_;
  const std::string& node_;
  const CommandMaker& maker_;
};

bool NeverFits(const Gate& gate) { return gate.count && SubjectOf(gate, GateSubjectKind::kGroup) != nullptr; }
bool IsEmptyStage(const Gate& gate) {
  return gate.reason == GateReason::kStage && gate.count && gate.count->limit == 0;
}

Advice OfGroup(const GateCount& count, const CommandMaker& commands) {
  return {.text = fmt::format(
              "Its {} nodes start together and exceed the limit of {}: raise the limit, or make the group smaller.",
              count.used, count.limit),
          .commands = {commands.Upgradectl("preflight", "")},
          .page = kPolicyRollout};
}

}  // namespace

std::string CommandMaker::SetPolicy(std::string_view, std::string_view) const { return ""; }
std::string CommandMaker::DriverPod(std::string_view) const { return ""; }
std::string CommandMaker::DriverDaemonSets() const { return ""; }
std::string CommandMaker::Ledger() const { return ""; }

std::string OperatorCommands::Upgradectl(std::string_view verb, std::string_view argument) const {
  // Without options, upgradectl uses the GPU driver of nvidia.com.
  std::string command = "upgradectl " + std::string(verb);
  if (!argument.empty()) command += " " + std::string(argument);
  if (identity_.domain() != "nvidia.com") command += " --domain " + identity_.domain();
  if (identity_.driver() != "gpu") command += " --driver " + identity_.driver();
  return command;
}

bool OpensByItself(const Gate& gate) {
  const GateOpener opener = TraitsOf(gate.reason).opener;
  return (opener == GateOpener::kRollout || opener == GateOpener::kClock) && !NeverFits(gate) && !IsEmptyStage(gate);
}

Advice AdviceFor(const DriverIdentity& identity, const Gate& gate, const std::string& node,
                 const CommandMaker& commands) {
  if (NeverFits(gate)) return OfGroup(*gate.count, commands);
  const Row& row = IsEmptyStage(gate) ? kEmptyStage : kRows[static_cast<std::size_t>(gate.reason)];
  Advice advice{.text = std::string(row.text), .page = std::string(row.page)};
  const Filler filler(identity, gate, node, commands);
  for (const std::string_view text : row.commands) {
    std::string command = filler.Command(text);
    if (!command.empty()) advice.commands.push_back(std::move(command));
  }
  return advice;
}

}  // namespace driverupgrade::internal
