#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "decide/gate_subject.h"
#include "fmt/format.h"
#include "upgradectl/explain.h"
#include "upgradectl/operator_health.h"
#include "upgradectl/text.h"
#include "whatif/budgets.h"

namespace upgradectl {
namespace {

constexpr absl::Duration kFailsSoon = absl::Minutes(10);

using driverupgrade::Gate;
using driverupgrade::GateReason;
using driverupgrade::GateSubject;
using driverupgrade::GateSubjectKind;
using driverupgrade::Pod;
using driverupgrade::PodDisruptionBudget;
using driverupgrade::internal::Advice;
using driverupgrade::internal::AdviceFor;
using driverupgrade::internal::CommandMaker;

// Returns nullptr if the gate has another subject.
const GateSubject* SubjectOf(const Gate& gate, GateSubjectKind kind) {
  return gate.subject && gate.subject->kind == kind ? &*gate.subject : nullptr;
}

// Returns the option with its value, quoted for a shell. An option without a value is a flag.
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

// Creates commands with the locations and names of this cluster.
class Commands final : public CommandMaker {
 public:
  Commands(const Request& request, const NodeStatus& node)
      : request_(request), node_(node), identity_(request.question.identity) {}

  std::string Upgradectl(std::string_view verb, std::string_view argument) const override {
    std::string text = fmt::format("upgradectl {}{}{}", verb, argument.empty() ? "" : " ", argument);
    for (const auto& [name, value] : request_.options) {
      if (TakesOption(std::string(verb), name)) text += WithValue(name, value);
    }
    return text;
  }
  std::string SetPolicy(std::string_view field, std::string_view value) const override {
    if (!request_.place.policy) return fmt::format("# in the operator's policy: {}: {}", field, value);
    std::string patch = fmt::format("{{\"{}\": {}}}", field, value);
    const std::vector<std::string>& path = request_.place.policy->path;
    for (auto name = path.rbegin(); name != path.rend(); ++name) patch = fmt::format("{{\"{}\": {}}}", *name, patch);
    return fmt::format("kubectl patch {} --type=merge -p '{}'", request_.place.policy->ToString(), patch);
  }
  std::string DriverPod(std::string_view verb) const override {
    return node_.pod.empty() ? fmt::format("kubectl get pods -n {} -l {} -o wide --field-selector spec.nodeName={}",
                                           request_.place.ns, request_.place.labels, node_.name)
                             : fmt::format("kubectl {} -n {} {}", verb, Namespace(node_.pod), Name(node_.pod));
  }
  std::string DriverDaemonSets() const override {
    return fmt::format("kubectl describe daemonset -n {} -l {}", request_.place.ns, request_.place.labels);
  }
  std::string Ledger() const override { return fmt::format("kubectl get configmap -n {} -o wide", request_.place.ns); }
  std::string OnNode(std::string_view verb) const { return Upgradectl(verb, node_.name); }
  std::string LabelState(std::string_view value) const {
    return fmt::format("kubectl label node {} {}={} --overwrite", node_.name, identity_.StateLabel(), value);
  }
  std::string Operator() const {
    return fmt::format("kubectl get deployments,pods,leases -n {}", request_.place.lease_ns);
  }

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

// Returns the options for the driver that the gate names. upgradectl finds the drivers of NVIDIA's operators, and
// drivers whose operators report their options; for all others, the user must fill in the location.
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

// Returns the options that have the same names in kubectl.
std::string OptionsOfKubectl(const Request& request) {
  std::string text;
  for (const auto& [option, value] : request.options) {
    if (option == "--kubeconfig" || option == "--context") text += WithValue(option, value);
  }
  return text;
}

// Returns advice on a container that will not recover on its own; nullopt if there is no such container.
std::optional<Advice> OfStuckContainer(const PodFacts& facts, const Commands& commands) {
  for (const WaitingContainer& waiting : facts.waiting) {
    if (waiting.reason == "CrashLoopBackOff") {
      return Advice{.text = fmt::format("Container {} of the driver keeps crashing: its last log shows the reason. If "
                                        "the driver does not support this kernel, use another version.",
                                        waiting.container),
                    .commands = {commands.DriverPod("logs --previous -c " + waiting.container),
                                 commands.DriverPod("describe pod")}};
    }
    if (waiting.reason.find("Image") != std::string::npos) {
      return Advice{.text = fmt::format(
                        "The image of container {} cannot be pulled. Correct the image's name, or the pull secret.",
                        waiting.container),
                    .commands = {commands.DriverPod("describe pod"), commands.DriverDaemonSets()}};
    }
  }
  return std::nullopt;
}

// Returns advice on a failed request, because waiting does not resolve the failure.
Advice OfFailedRequest(const NodeStatus& node) {
  return {.text = fmt::format("The operator's last request failed: {}. If it was refused, the cause is a webhook, an "
                              "admission policy or a missing permission.",
                              Printable(node.request_failure)),
          .commands = {"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
                       "kubectl get validatingadmissionpolicies"},
          .page = "docs/operations.md#a-node-does-not-move"};
}

// Returns advice on a node without a gate. Nothing replaces the driver pod of a done node even if the pod is not ready,
// because the pod is up to date.
Advice OfDone(const Commands& commands, const NodeStatus& node) {
  if (node.moves) return {.text = "No action is needed: the operator will advance the node in its next pass."};
  if (node.state != driverupgrade::UpgradeState::kDone || node.pod.empty() || node.pod_ready) {
    return {.text = "No action is needed."};
  }
  return {.text =
              "The driver is up to date but not Ready. Remove the cause, then restart the driver: request an upgrade, "
              "or label the node.",
          .commands = {commands.DriverPod("describe pod"), commands.DriverPod("logs --all-containers"),
                       commands.OnNode("request"), commands.LabelState("upgrade-required")}};
}

// Adds the remaining time, and advice to extend the timeout, if the node is about to fail.
void AddDeadline(const Request& request, const Gate& gate, Advice& help) {
  if (!gate.fails_at || *gate.fails_at <= request.question.at) return;
  const absl::Duration left = *gate.fails_at - request.question.at;
  if (left > kFailsSoon) return;
  help.text += fmt::format(
      " The node fails in {} unless this is resolved; a longer timeout in the policy gives it more time.", Age(left));
}

// Puts the advice to start the operator first, because other advice helps only once an operator is running. `any` is
// true if there is other advice.
void AddOperator(const Request& request, const Commands& commands, bool any, Advice& help) {
  const std::string trouble = OperatorTrouble(request);
  if (trouble.empty()) return;
  help.text = any ? fmt::format("First start the operator: {}. Then: {}", trouble, help.text)
                  : fmt::format("Start the operator: {}.", trouble);
  help.commands.insert(help.commands.begin(), commands.Operator());
}

// Returns advice on the driver pod, which may be the cause of the gate.
std::optional<Advice> OfDriverPod(const Request& request, const NodeStatus& node, const Commands& commands) {
  const auto facts = request.facts.pods.find(node.pod);
  const bool is_not_ready = node.gate->reason == GateReason::kDriverPodNotReady;
  return is_not_ready && facts != request.facts.pods.end() ? OfStuckContainer(facts->second, commands) : std::nullopt;
}

// Returns a budget that never allows the eviction of a pod that blocks the node; nullptr if there is no such budget.
const PodDisruptionBudget* LastingBudget(const Request& request, const NodeStatus& node) {
  const driverupgrade::whatif::Budgets budgets(request.question.cluster, request.facts);
  for (const Pod& pod : request.question.cluster.pods) {
    if (pod.node_name != node.name || !IsBlockedBy(node, pod)) continue;
    for (const PodDisruptionBudget* budget : budgets.Of(pod)) {
      if (budgets.NeverAllows(*budget)) return budget;
    }
  }
  return nullptr;
}

// Adds advice to edit a budget that prevents every eviction. More pods do not help if the budget sets maxUnavailable.
void AddLastingBudget(const Request& request, const NodeStatus& node, Advice& advice) {
  const GateReason reason = node.gate->reason;
  if (reason != GateReason::kDisruptionBudget && reason != GateReason::kFailed) return;
  const PodDisruptionBudget* budget = LastingBudget(request, node);
  if (budget == nullptr) return;
  const std::string name = Printable(budget->name);
  advice.text =
      reason == GateReason::kFailed
          ? fmt::format("Change disruption budget {}, which never allows an eviction. Then retry the node.", name)
          : fmt::format(
                "Change disruption budget {}, which never allows an eviction. If it sets minAvailable, "
                "a further replica also helps. Deleting the pod bypasses budgets.",
                name);
  const std::string edit = fmt::format("kubectl edit poddisruptionbudget -n {} {}", budget->ns, budget->name);
  // Inserts the command after the command that shows the budget, and before commands that are useful after the repair.
  const auto place = reason == GateReason::kFailed ? advice.commands.begin() : advice.commands.begin() + 1;
  advice.commands.insert(place, edit);
}

Advice OfGate(const Request& request, const Commands& commands, const NodeStatus& node) {
  if (std::optional<Advice> advice = OfDriverPod(request, node, commands)) return *std::move(advice);
  Advice advice = AdviceFor(request.question.identity, *node.gate, node.name, commands);
  if (node.gate->reason == GateReason::kOtherDriver && SubjectOf(*node.gate, GateSubjectKind::kDriver) != nullptr) {
    advice.commands = {"upgradectl explain " + node.name + OtherDriver(request, *node.gate)};
  }
  AddLastingBudget(request, node, advice);
  return advice;
}

}  // namespace

bool IsBlockedBy(const NodeStatus& node, const Pod& pod) {
  if (node.gate && node.gate->subject == driverupgrade::PodSubject(pod.ref)) return true;
  // The failure cause is a message, in which the pod's name may be a prefix of another pod's name.
  const std::string name = pod.ref.ToString();
  const std::size_t at = node.failure_cause.find(name);
  if (at == std::string::npos) return false;
  const std::string_view rest = std::string_view(node.failure_cause).substr(at + name.size());
  return rest.empty() || rest.front() == ' ' || rest.front() == ',';
}

Advice HelpFor(const Request& request, const NodeStatus& node) {
  const Commands commands(request, node);
  Advice help = !node.request_failure.empty() ? OfFailedRequest(node)
                : node.gate                   ? OfGate(request, commands, node)
                                              : OfDone(commands, node);
  if (node.gate) AddDeadline(request, *node.gate, help);
  AddOperator(request, commands, /*any=*/node.gate.has_value() || !help.commands.empty(), help);
  if (help.commands.empty() && !node.gate) return help;
  for (std::string& command : help.commands) {
    if (command.starts_with("kubectl ")) command += OptionsOfKubectl(request);
  }
  if (help.page.empty()) help.page = "docs/operations.md#a-node-does-not-move";
  return help;
}

}  // namespace upgradectl
