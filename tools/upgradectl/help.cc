#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "upgradectl/explain.h"
#include "upgradectl/operator_health.h"
#include "upgradectl/text.h"

namespace upgradectl {
namespace {

constexpr absl::Duration kFailsSoon = absl::Minutes(10);

using driverupgrade::Gate;
using driverupgrade::GateReason;
using driverupgrade::GateSubject;
using driverupgrade::GateSubjectKind;

// nullptr: the gate is about something else.
const GateSubject* SubjectOf(const Gate& gate, GateSubjectKind kind) {
  return gate.subject && gate.subject->kind == kind ? &*gate.subject : nullptr;
}

// As a shell reads it; without a value it is a flag.
std::string WithValue(const std::string& option, const std::optional<std::string>& given) {
  if (!given) return " " + option;
  const std::string& value = *given;
  const std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";
  if (!value.empty() && value.find_first_not_of(plain) == std::string::npos) {
    return fmt::format(" {} {}", option, value);
  }
  std::string quoted;
  for (const char c : value) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format(" {} '{}'", option, quoted);
}

// What commands are made of.
class Commands {
 public:
  Commands(const Request& request, const NodeStatus& node)
      : request_(request), node_(node), identity_(request.question.identity) {}

  std::string Ours(std::string_view verb, std::string_view argument = {}) const {
    std::string text = fmt::format("upgradectl {}{}{}", verb, argument.empty() ? "" : " ", argument);
    for (const auto& [name, value] : request_.options) {
      if (TakesOption(std::string(verb), name)) text += WithValue(name, value);
    }
    return text;
  }
  std::string OnNode(std::string_view verb) const { return Ours(verb, node_.name); }
  std::string LabelState(std::string_view value) const {
    return value.empty()
               ? fmt::format("kubectl label node {} {}-", node_.name, identity_.StateLabel())
               : fmt::format("kubectl label node {} {}={} --overwrite", node_.name, identity_.StateLabel(), value);
  }
  std::string Policy(std::string_view field, std::string_view value) const {
    if (!request_.place.policy) return fmt::format("# in the operator's policy: {}: {}", field, value);
    std::string patch = fmt::format("{{\"{}\": {}}}", field, value);
    const std::vector<std::string>& path = request_.place.policy->path;
    for (auto name = path.rbegin(); name != path.rend(); ++name) patch = fmt::format("{{\"{}\": {}}}", *name, patch);
    return fmt::format("kubectl patch {} --type=merge -p '{}'", request_.place.policy->ToString(), patch);
  }
  std::string PodsOnNode() const {
    return fmt::format("kubectl get pods -A -o wide --field-selector spec.nodeName={}", node_.name);
  }
  std::string DriverPod(std::string_view verb) const {
    return node_.pod.empty() ? fmt::format("kubectl get pods -n {} -l {} -o wide --field-selector spec.nodeName={}",
                                           request_.place.ns, request_.place.labels, node_.name)
                             : fmt::format("kubectl {} -n {} {}", verb, Namespace(node_.pod), Name(node_.pod));
  }
  std::string DriverDaemonSet() const {
    return fmt::format("kubectl describe daemonset -n {} -l {}", request_.place.ns, request_.place.labels);
  }
  std::string Operator() const {
    return fmt::format("kubectl get deployments,pods,leases -n {}", request_.place.lease_ns);
  }
  std::string GatePod(std::string_view verb) const {
    const GateSubject* pod = SubjectOf(*node_.gate, GateSubjectKind::kPod);
    return pod == nullptr ? PodsOnNode() : fmt::format("kubectl {} pod -n {} {}", verb, pod->ns, pod->name);
  }
  std::string InNamespaceOfGatePod(std::string_view kinds) const {
    const GateSubject* pod = SubjectOf(*node_.gate, GateSubjectKind::kPod);
    const std::string where = pod == nullptr ? "-A" : "-n " + pod->ns;
    return fmt::format("kubectl get {} {}", kinds, where);
  }
  // The approval `canary@5d4c9` is of the stage `canary`.
  std::string Approve() const {
    const GateSubject* approval = SubjectOf(*node_.gate, GateSubjectKind::kApproval);
    return Ours("approve", approval == nullptr ? "STAGE" : approval->name.substr(0, approval->name.rfind('@')));
  }
  const Request& request() const { return request_; }

 private:
  static std::string Namespace(const std::string& pod) { return pod.substr(0, pod.find('/')); }
  static std::string Name(const std::string& pod) { return pod.substr(pod.find('/') + 1); }

  const Request& request_;
  const NodeStatus& node_;
  const driverupgrade::DriverIdentity& identity_;
};

bool NamesCluster(const std::string& option) {
  return option == "--kubeconfig" || option == "--context" || option == "--in-cluster" || option == "--allow-exec";
}

// Returns the options for the driver that the gate is about. upgradectl finds usual drivers, and drivers whose operators report
// their options. The user must fill in the place of other drivers.
std::string OtherDriver(const Request& request, const Gate& gate) {
  const GateSubject* driver_of_gate = SubjectOf(gate, GateSubjectKind::kDriver);
  const std::string name = driver_of_gate == nullptr ? "" : driver_of_gate->name;
  const std::size_t slash = name.find('/');
  std::string text;
  if (slash != std::string::npos) {
    const std::string domain = name.substr(0, slash);
    const std::string driver = name.substr(slash + 1);
    text = WithValue("--driver", driver);
    if (domain != "nvidia.com") text += WithValue("--domain", domain);
    const bool is_found = HasUsualPlace(domain, driver) || request.reporting_drivers.contains(name);
    if (!is_found) text += " --namespace NAMESPACE --driver-labels LABELS";
  }
  for (const auto& [option, value] : request.options) {
    if (NamesCluster(option)) text += WithValue(option, value);
  }
  return text;
}

// kubectl calls them the same.
std::string OptionsOfKubectl(const Request& request) {
  std::string text;
  for (const auto& [option, value] : request.options) {
    if (option == "--kubeconfig" || option == "--context") text += WithValue(option, value);
  }
  return text;
}

Help OfRollout(const Gate& gate, const Commands& commands) {
  if (SubjectOf(gate, GateSubjectKind::kGroup) != nullptr && gate.count) {
    return {
        .advice = fmt::format("Its {} nodes start together, and never fit into {}: raise the limit, or make the group "
                              "smaller.",
                              gate.count->used, gate.count->limit),
        .commands = {commands.Ours("preflight")},
        .page = "docs/policy.md#rollout"};
  }
  switch (gate.reason) {
    case GateReason::kMaxParallel:
    case GateReason::kMaxUnavailable:
      return {.advice = "Wait for nodes that are in progress; look for failed ones, and for cordons of others.",
              .commands = {commands.Ours("status")}};
    case GateReason::kStage:
      if (gate.count && gate.count->limit == 0) {
        return {
            .advice = "No node of the open stage counts: correct its nodeSelector, or see what leaves its nodes out.",
            .commands = {commands.Ours("status")},
            .page = "docs/operations.md#a-rollout-in-stages"};
      }
      [[fallthrough]];
    case GateReason::kGroup:
      return {.advice = "Wait for the nodes that go before it; look for failed ones among them.",
              .commands = {commands.Ours("status")},
              .page = "docs/operations.md#a-rollout-in-stages"};
    case GateReason::kLedger:
      return {.advice = "Seconds: nothing. Longer: may the operator read and write its ConfigMap?",
              .commands = {fmt::format("kubectl get configmap -n {} -o wide", commands.request().place.ns)},
              .page = "docs/operations.md#the-ledger"};
    case GateReason::kPodsUnknown:
      return {.advice = "Wait a few seconds. If the gate stays, the operator may not read these pods.",
              .commands = {commands.PodsOnNode()}};
    default:
      return {.advice = "Wait. If it stays, the detail has the API server's answer: often a missing permission."};
  }
}

Help OfAdministrator(GateReason reason, const Commands& commands, const std::string& node) {
  switch (reason) {
    case GateReason::kMaxFailures:
      return {.advice = "Repair the failed nodes, and retry them.",
              .commands = {commands.Ours("status"), commands.Ours("retry", "FAILED-NODE")},
              .page = "docs/runbooks/node-failed.md"};
    case GateReason::kHalted:
    case GateReason::kApproval:
      return {.advice = "Look at the upgraded nodes. If they are well, approve.",
              .commands = {commands.Ours("status"), commands.Approve()},
              .page = "docs/operations.md#a-rollout-in-stages"};
    case GateReason::kNoWindow:
      return {.advice = "Change windows, closed or finishBy of the policy; or find out why nodes take so long.",
              .commands = {commands.Ours("status")},
              .page = "docs/policy.md#rollout"};
    case GateReason::kPaused:
      return {.advice = "The policy is paused.",
              .commands = {commands.Ours("resume")},
              .page = "docs/runbooks/paused-too-long.md"};
    case GateReason::kFrozen:
      return {.advice = "autoUpgrade is off: turn it on.",
              .commands = {commands.Policy("autoUpgrade", "true")},
              .page = "docs/runbooks/paused-too-long.md"};
    case GateReason::kSkipLabel:
      return {.advice = "Somebody left the node out.", .commands = {commands.OnNode("unskip")}};
    case GateReason::kCordoned:
      return {.advice = "Somebody cordoned the node, and the policy leaves such nodes alone.",
              .commands = {fmt::format("kubectl uncordon {}", node)}};
    case GateReason::kNodeNotReady:
      return {.advice = "Repair the node; it starts when it is Ready. If its driver is the cause, start it anyway.",
              .commands = {fmt::format("kubectl describe node {}", node), commands.OnNode("request")}};
    case GateReason::kUnknownState:
      return {.advice = "The label is no state: remove it, and the node is looked at as if for the first time.",
              .commands = {commands.LabelState("")}};
    case GateReason::kUnhandledState:
      return {.advice = "The operator does not leave this state: is it a requestor? Or begin anew, in place.",
              .commands = {commands.LabelState("upgrade-required")}};
    case GateReason::kFailed:
      return {.advice = "Remove the cause, which the history has, and begin anew.",
              .commands = {commands.OnNode("retry")},
              .page = "docs/runbooks/node-failed.md"};
    default:
      return {.advice = "Compare the object with what Kubernetes gives.",
              .commands = {fmt::format("kubectl get node {} -o yaml", node)},
              .page = "docs/operations.md#an-object-cannot-be-read"};
  }
}

Help OfWorkloads(GateReason reason, const Commands& commands) {
  Help help{.page = "docs/runbooks/drain-blocked.md"};
  switch (reason) {
    case GateReason::kDisruptionBudget:
      help.advice =
          "Give the workload more ready pods elsewhere, or let its budget allow one. Deleting asks no budget.";
      help.commands = {commands.InNamespaceOfGatePod("pods,poddisruptionbudgets") + " -o wide",
                       commands.GatePod("delete")};
      break;
    case GateReason::kSeveralBudgets:
      help.advice = "Let one budget select the pod; or delete it, which asks none.";
      help.commands = {commands.InNamespaceOfGatePod("poddisruptionbudgets"), commands.GatePod("delete")};
      break;
    case GateReason::kUndeletablePods:
      help.advice = "The policy does not let these pods go (force, deleteEmptyDir): delete them yourself.";
      help.commands = {commands.GatePod("delete")};
      break;
    case GateReason::kSafeLoad:
      help.advice = "Evacuate the node, and let its driver load.";
      help.commands = {commands.PodsOnNode(), commands.OnNode("release")};
      help.page = "docs/operations.md#safe-load";
      break;
    case GateReason::kJobs:
      help.advice = "Wait for the jobs, or end them.";
      help.commands = {commands.PodsOnNode()};
      help.page = "docs/operations.md#jobs-that-are-waited-for";
      break;
    case GateReason::kGangRuns:
      help.advice =
          "Wait until the job ends; or save its work, and set the annotation driverupgrade/may-stop=true on its pods.";
      help.commands = {commands.PodsOnNode()};
      help.page = "docs/policy.md#gangs";
      break;
    default:
      help.advice = "Look at the pod's grace period, its finalizers and the kubelet.";
      help.commands = {commands.GatePod("describe")};
  }
  return help;
}

// Advises on containers that waiting does not help; nullopt: none of them is known to have such a problem.
std::optional<Help> OfStuckContainer(const PodFacts& facts, const Commands& commands) {
  for (const WaitingContainer& waiting : facts.waiting) {
    if (waiting.reason == "CrashLoopBackOff") {
      return Help{
          .advice = fmt::format("Container {} of the driver crashes: its last log has the reason. A driver that does "
                                "not load on this kernel needs another version.",
                                waiting.container),
          .commands = {commands.DriverPod("logs --previous -c " + waiting.container),
                       commands.DriverPod("describe pod")}};
    }
    if (waiting.reason.find("Image") != std::string::npos) {
      return Help{
          .advice = fmt::format("The image of container {} cannot be pulled: correct its name, or the pull secret.",
                                waiting.container),
          .commands = {commands.DriverPod("describe pod"), commands.DriverDaemonSet()}};
    }
  }
  return std::nullopt;
}

Help OfDriver(const Request& request, const NodeStatus& node, const Commands& commands) {
  const auto facts = request.facts.pods.find(node.pod);
  if (facts != request.facts.pods.end() && node.gate->reason == GateReason::kDriverPodNotReady) {
    if (auto help = OfStuckContainer(facts->second, commands)) return *std::move(help);
  }
  switch (node.gate->reason) {
    case GateReason::kDriverPodMissing:
    case GateReason::kRevisionUnknown:
      return {
          .advice = "Do the DaemonSet's node selector, affinity and tolerations fit the node? Has its controller run?",
          .commands = {commands.DriverDaemonSet()}};
    case GateReason::kValidation:
      return {.advice = "Look at the validation pods of the node.", .commands = {commands.PodsOnNode()}};
    default:
      return {.advice = "Look at the driver pod: its image, its log.",
              .commands = {commands.DriverPod("describe pod"), commands.DriverPod("logs --all-containers")}};
  }
}

// Waiting does not help either.
Help OfRefusal(const NodeStatus& node) {
  return {
      .advice = fmt::format(
          "The API server refuses what the operator wants to change: {}. A webhook, an admission policy or a missing "
          "right is the cause.",
          Printable(node.refusal)),
      .commands = {"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
                   "kubectl get validatingadmissionpolicies"},
      .page = "docs/operations.md#a-node-does-not-move"};
}

// Nothing replaces the driver pod of a node that is done: it is up to date.
Help OfDone(const Commands& commands, const NodeStatus& node) {
  if (node.state != driverupgrade::UpgradeState::kDone || node.pod.empty() || node.pod_ready) {
    return {.advice = "Nothing is needed."};
  }
  return {.advice =
              "The driver is up to date, but it is not Ready. Remove the cause; then restart the driver: request an "
              "upgrade, or label the node.",
          .commands = {commands.DriverPod("describe pod"), commands.DriverPod("logs --all-containers"),
                       commands.OnNode("request"), commands.LabelState("upgrade-required")}};
}

Help OfOtherOperator(GateReason reason, const Request& request, const NodeStatus& node) {
  switch (reason) {
    case GateReason::kOtherDriver:
      return {.advice = "See how the other driver's upgrade stands.",
              .commands = {"upgradectl explain " + node.name + OtherDriver(request, *node.gate)}};
    case GateReason::kNodeLeaves:
      return {.advice = "Nothing is needed: the node is about to leave the cluster.",
              .commands = {fmt::format("kubectl describe node {}", node.name)}};
    case GateReason::kMachineConfig:
      return {.advice = "Wait for the Machine Config Operator. If it stays, look at its config pools.",
              .commands = {"kubectl get machineconfigpools", fmt::format("kubectl describe node {}", node.name)}};
    default:
      return {.advice = "Ask the operator that the detail names.",
              .commands = {fmt::format("kubectl describe nodemaintenances -A")}};
  }
}

// A deadline that is near leaves time for one decision.
void AddDeadline(const Request& request, const Gate& gate, Help& help) {
  if (!gate.fails_at || *gate.fails_at <= request.question.at) return;
  const absl::Duration left = *gate.fails_at - request.question.at;
  if (left > kFailsSoon) return;
  help.advice += fmt::format(
      " The node fails in {} unless this ends; a longer timeout in the policy gives it more time.", Age(left));
}

// The advice about the gate helps only once an operator runs.
void AddOperator(const Request& request, const Commands& commands, Help& help) {
  const std::string trouble = OperatorTrouble(request);
  if (trouble.empty()) return;
  help.advice = fmt::format("First start the operator: {}. Then: {}", trouble, help.advice);
  help.commands.insert(help.commands.begin(), commands.Operator());
}

Help OfGate(const Request& request, const Commands& commands, const NodeStatus& node) {
  const GateReason reason = node.gate->reason;
  switch (driverupgrade::TraitsOf(reason).opener) {
    case driverupgrade::GateOpener::kRollout: return OfRollout(*node.gate, commands);
    case driverupgrade::GateOpener::kAdministrator: return OfAdministrator(reason, commands, node.name);
    case driverupgrade::GateOpener::kWorkloads: return OfWorkloads(reason, commands);
    case driverupgrade::GateOpener::kDriver: return OfDriver(request, node, commands);
    case driverupgrade::GateOpener::kClock: return {.advice = "Wait until then."};
    case driverupgrade::GateOpener::kOtherOperator: return OfOtherOperator(reason, request, node);
  }
  return {};
}

}  // namespace

Help HelpFor(const Request& request, const NodeStatus& node) {
  const Commands commands(request, node);
  Help help = !node.refusal.empty() ? OfRefusal(node)
              : node.gate           ? OfGate(request, commands, node)
                                    : OfDone(commands, node);
  if (node.gate) AddDeadline(request, *node.gate, help);
  if (node.gate) AddOperator(request, commands, help);
  if (help.commands.empty() && !node.gate) return help;
  for (std::string& command : help.commands) {
    if (command.starts_with("kubectl ")) command += OptionsOfKubectl(request);
  }
  if (help.page.empty()) help.page = "docs/operations.md#a-node-does-not-move";
  return help;
}

}  // namespace upgradectl
