#include "upgradectl/explain.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "decide/gate_subject.h"
#include "driverupgrade/driver_identity.h"
#include "fmt/format.h"
#include "model/node_marks.h"
#include "upgradectl/text.h"
#include "whatif/budgets.h"
#include "whatif/plan_json.h"

namespace upgradectl {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::GateOpener;
using driverupgrade::GateReason;
using driverupgrade::Node;
using driverupgrade::NodeMaintenance;
using driverupgrade::Pod;
using driverupgrade::PodDisruptionBudget;
using driverupgrade::UpgradeState;
using driverupgrade::whatif::Budgets;
using driverupgrade::whatif::TimeText;

constexpr std::size_t kPodsShown = 5;
constexpr std::size_t kEventsShown = 12;

std::string_view OpenedBy(GateOpener opener) {
  switch (opener) {
    case GateOpener::kRollout: return "the rollout itself";
    case GateOpener::kAdministrator: return "an administrator";
    case GateOpener::kOtherOperator: return "another operator";
    case GateOpener::kWorkloads: return "the pods on the node, or their owners";
    case GateOpener::kDriver: return "the driver's pods";
    case GateOpener::kClock: return "time alone";
  }
  return "nothing";
}

std::string Moment(absl::Time time, absl::Time now) {
  return time > now ? fmt::format("{} (in {})", TimeText(time), Age(time - now))
                    : fmt::format("{} ({} ago)", TimeText(time), Age(now - time));
}

const Node* FindNode(const Request& request, std::string_view name) {
  for (const Node& node : request.question.cluster.nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

Section StateOf(const Request& request, const NodeStatus& status, const Node& node) {
  Section section{.title = "State"};
  std::string line(driverupgrade::ToString(status.state));
  if (status.since) line += fmt::format(" since {}", Moment(*status.since, request.question.at));
  section.lines.push_back(line);
  if (!status.ready) section.lines.emplace_back("the node is not ready");
  const auto marks = driverupgrade::internal::DecodeMarks(node, request.question.identity);
  if (node.unschedulable) {
    const auto by = node.annotations.find(std::string(driverupgrade::kCordonedByAnnotation));
    const bool before_us = marks.initially_unschedulable.present();
    section.lines.push_back(by == node.annotations.end() || before_us
                                ? std::string("cordoned by an administrator; upgrades keep the cordon")
                                : Printable(fmt::format("cordoned for {}", by->second)));
  }
  if (marks.skip_upgrade.value()) section.lines.emplace_back("has the skip label");
  if (marks.upgrade_requested.value()) section.lines.emplace_back("an upgrade is requested");
  if (marks.safe_load.present()) section.lines.emplace_back("its driver waits for a safe load");
  if (marks.reload_only.present()) {
    section.lines.emplace_back("only loads the driver that it has; its upgrade follows once the rollout permits it");
  }
  if (const auto& failures = marks.failures.value()) {
    section.lines.push_back(fmt::format("failed {} time{}, last {}", failures->count, failures->count == 1 ? "" : "s",
                                        Moment(failures->last, request.question.at)));
  }
  if (const auto& cause = marks.failure_cause.value()) section.lines.push_back(Printable(*cause));
  for (const DriverIdentity& other : driverupgrade::internal::DriversWithLabel(node)) {
    if (other == request.question.identity) continue;
    const auto state = driverupgrade::internal::StateOf(node, other);
    section.lines.push_back(
        fmt::format("{} is in {}", other.Name(), state ? driverupgrade::ToString(*state) : "no known state"));
  }
  return section;
}

Section GateOf(const Request& request, const NodeStatus& status) {
  Section section{.title = "Waits for"};
  if (!status.gate) {
    section.lines.emplace_back(status.moves                     ? "the next pass of the operator"
                               : status.request_failure.empty() ? "nothing"
                                                                : "the operator's request to succeed");
    return section;
  }
  const driverupgrade::Gate& gate = *status.gate;
  section.lines.push_back(Printable(fmt::format("{}: {}", driverupgrade::ToString(gate.reason), gate.detail)));
  if (gate.not_before && gate.not_before != gate.fails_at && *gate.not_before > request.question.at) {
    section.lines.push_back(fmt::format("until {}", Moment(*gate.not_before, request.question.at)));
  }
  if (gate.fails_at) {
    section.lines.push_back(fmt::format("the node fails at {}", Moment(*gate.fails_at, request.question.at)));
  }
  const NodeView* seen = request.view ? request.view->Find(status.name) : nullptr;
  if (seen != nullptr && seen->gate_since) {
    section.lines.push_back(fmt::format("since {}", Moment(*seen->gate_since, request.question.at)));
  }
  section.lines.push_back(status.request_failure.empty()
                              ? fmt::format("opened by {}", OpenedBy(driverupgrade::TraitsOf(gate.reason).opener))
                              : "opens once the operator's request succeeds");
  return section;
}

Section FindingsOf(const RolloutStatus& status, std::string_view node) {
  Section section{.title = "Findings"};
  for (const driverupgrade::Finding& finding : status.findings) {
    if (finding.node != node) continue;
    section.lines.push_back(Printable(fmt::format("{}: {}", driverupgrade::ToString(finding.code), finding.message)));
  }
  return section;
}

const PodFacts* FactsOf(const Request& request, const Pod& pod) {
  const auto facts = request.facts.pods.find(pod.ref.ToString());
  return facts == request.facts.pods.end() ? nullptr : &facts->second;
}

std::string Owner(const Pod& pod) {
  if (pod.mirror) return "a static pod";
  const driverupgrade::OwnerReference* owner = driverupgrade::ControllerOf(pod);
  return owner == nullptr ? "no controller, so it is not replaced" : fmt::format("{} {}", owner->kind, owner->name);
}

// Returns the names of the other pods that the budget covers.
std::string Sharing(const Request& request, const Pod& pod, const PodDisruptionBudget& budget) {
  std::size_t others = 0;
  std::string names;
  for (const Pod& other : request.question.cluster.pods) {
    const bool shares = other.ref.ns == pod.ref.ns && other.ref != pod.ref && budget.selector.Matches(other.labels);
    if (!shares) continue;
    if (++others <= kPodsShown) {
      names += fmt::format("{}{} on {}", others == 1 ? "" : ", ", other.ref.name,
                           other.node_name.empty() ? "no node" : other.node_name);
    }
  }
  if (others > kPodsShown) names += fmt::format(" and {} more", others - kPodsShown);
  return others == 0 ? "not shared with any known pod" : fmt::format("shared with {}", names);
}

void AddBudgets(const Request& request, const Budgets& budgets, const Pod& pod, std::vector<std::string>& lines) {
  for (const PodDisruptionBudget* budget : budgets.Of(pod)) {
    lines.push_back(Printable(fmt::format("  disruption budget {}: allows {}, {} healthy, {} needed; {}{}",
                                          budget->name, budget->disruptions_allowed, budget->current_healthy,
                                          budget->desired_healthy, Sharing(request, pod, *budget),
                                          budgets.NeverAllows(*budget) ? "; it never allows an eviction" : "")));
  }
}

void AddTrouble(const PodFacts& facts, std::vector<std::string>& lines) {
  for (const WaitingContainer& waiting : facts.waiting) {
    lines.push_back(
        Printable(fmt::format("  container {} waits: {} {}", waiting.container, waiting.reason, waiting.message)));
  }
  for (const auto& [type, why] : facts.false_conditions) {
    lines.push_back(Printable(fmt::format("  not {}: {}", type, why)));
  }
}

void AddPod(const Request& request, const Budgets& budgets, const Pod& pod, std::vector<std::string>& lines) {
  lines.push_back(Printable(fmt::format("{}: {}", pod.ref.ToString(), Owner(pod))));
  const PodFacts* facts = FactsOf(request, pod);
  if (pod.deletion_timestamp) {
    lines.push_back(fmt::format("  is being deleted, grace period ends at {}",
                                Moment(*pod.deletion_timestamp, request.question.at)));
  }
  if (facts != nullptr) {
    std::string finalizers;
    for (const std::string& finalizer : facts->finalizers) finalizers += (finalizers.empty() ? "" : ", ") + finalizer;
    if (!finalizers.empty()) lines.push_back(Printable(fmt::format("  kept by the finalizers {}", finalizers)));
    lines.push_back(fmt::format("  grace period {}", Age(absl::Seconds(facts->grace_seconds))));
  }
  AddBudgets(request, budgets, pod, lines);
  if (facts != nullptr && !driverupgrade::IsReady(pod)) AddTrouble(*facts, lines);
}

bool IsDriverPod(const Request& request, const Pod& pod) {
  return pod.ref.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(pod.labels);
}

// Returns the pods that an evacuation waits for, which are all pods except those that always stay. The gate's own pod
// comes first. For a failed node, returns only the pods that caused the failure.
std::vector<const Pod*> PodsInTheWay(const Request& request, const NodeStatus& node) {
  std::vector<const Pod*> pods;
  for (const Pod& pod : request.question.cluster.pods) {
    const bool stays = driverupgrade::IsDaemonSetPod(pod) || pod.mirror || driverupgrade::IsFinished(pod);
    if (pod.node_name == node.name && !stays) pods.push_back(&pod);
  }
  const auto is_named = [&](const Pod* pod) { return IsBlockedBy(node, *pod); };
  if (node.gate->reason == GateReason::kFailed) std::erase_if(pods, [&](const Pod* pod) { return !is_named(pod); });
  std::stable_sort(pods.begin(), pods.end(), [&](const Pod* a, const Pod* b) { return is_named(a) && !is_named(b); });
  return pods;
}

Section PodsOf(const Request& request, const NodeStatus& node) {
  Section section{.title = "Pods in the way"};
  const bool evacuates = node.gate && (node.gate->reason == GateReason::kFailed ||
                                       driverupgrade::TraitsOf(node.gate->reason).opener == GateOpener::kWorkloads);
  if (!evacuates) return section;
  const Budgets budgets(request.question.cluster, request.facts);
  const std::vector<const Pod*> pods = PodsInTheWay(request, node);
  for (std::size_t i = 0; i < std::min(pods.size(), kPodsShown); ++i) {
    AddPod(request, budgets, *pods[i], section.lines);
  }
  if (pods.size() > kPodsShown) section.lines.push_back(fmt::format("and {} more", pods.size() - kPodsShown));
  return section;
}

// Returns the time at which the node last entered pod-restart-required; InfinitePast if no Event shows this.
absl::Time RestartBegan(const Request& request, const NodeStatus& node) {
  absl::Time began = absl::InfinitePast();
  for (const EventFact& event : request.facts.events) {
    const bool restarts = event.message.ends_with(ToLabelValue(driverupgrade::UpgradeState::kPodRestartRequired));
    if (event.node == node.name && restarts) began = event.last;
  }
  return began;
}

// If the DaemonSet has created several driver pods on the node since the restart, adds a line with their number, which
// includes `pod`.
void AddReplacements(const Request& request, const NodeStatus& node, const Pod& pod, std::vector<std::string>& lines) {
  const driverupgrade::OwnerReference* owner = driverupgrade::ControllerOf(pod);
  const absl::Time began = RestartBegan(request, node);
  if (owner == nullptr || began == absl::InfinitePast()) return;
  int count = 0;
  for (const AssignedPod& assigned : request.facts.assigned_pods) {
    const bool of_driver = assigned.ns == pod.ref.ns && assigned.name.starts_with(owner->name + "-");
    if (of_driver && assigned.node == node.name && assigned.at >= began) ++count;
  }
  if (count > 1) {
    lines.push_back(fmt::format("  pod number {} since {}: the earlier pods were deleted or evicted", count,
                                Moment(began, request.question.at)));
  }
}

Section DriverOf(const Request& request, const NodeStatus& node) {
  Section section{.title = "Driver pod"};
  for (const Pod& pod : request.question.cluster.pods) {
    if (pod.node_name != node.name || !IsDriverPod(request, pod)) continue;
    section.lines.push_back(
        Printable(fmt::format("{}: revision {}, {}", pod.ref.ToString(), std::string(driverupgrade::RevisionHash(pod)),
                              driverupgrade::IsReady(pod) ? "ready" : "not ready")));
    AddReplacements(request, node, pod, section.lines);
    int restarts = 0;
    for (const auto* statuses : {&pod.init_container_statuses, &pod.container_statuses}) {
      for (const auto& container : *statuses) restarts = std::max(restarts, container.restart_count);
    }
    if (restarts > 0) section.lines.push_back(fmt::format("  restarted {} times", restarts));
    const PodFacts* facts = FactsOf(request, pod);
    if (facts != nullptr && !driverupgrade::IsReady(pod)) AddTrouble(*facts, section.lines);
  }
  if (section.lines.empty()) section.lines.emplace_back("none");
  return section;
}

Section MaintenancesOf(const Request& request, const NodeStatus& node) {
  Section section{.title = "NodeMaintenance"};
  for (const NodeMaintenance& maintenance : request.question.cluster.node_maintenances) {
    if (maintenance.node_name != node.name) continue;
    section.lines.push_back(Printable(fmt::format("{} of {}", maintenance.ToString(), maintenance.requestor_id)));
    for (const driverupgrade::Condition& condition : maintenance.conditions) {
      section.lines.push_back(Printable(
          fmt::format("  {}={} {} {}", condition.type, condition.status, condition.reason, condition.message)));
    }
  }
  return section;
}

// Returns the section about the operator's failed requests to the API server.
Section FailedRequestsOf(const Request& request, const NodeStatus& node) {
  Section section{.title = "Failed requests of the operator"};
  const NodeView* seen = request.view ? request.view->Find(node.name) : nullptr;
  if (seen == nullptr) return section;
  for (const FailedRequest& failed : seen->failed_requests) {
    section.lines.push_back(Printable(fmt::format("{}: {}", Moment(failed.at, request.question.at), failed.message)));
  }
  return section;
}

// Adds the transitions in the operator's view, because Events are deleted after an hour.
void AddTransitions(const Request& request, const NodeStatus& node, std::vector<std::string>& lines) {
  const NodeView* seen = request.view ? request.view->Find(node.name) : nullptr;
  if (seen == nullptr) return;
  for (const TransitionSeen& transition : seen->transitions) {
    lines.push_back(
        Printable(fmt::format("{}  {}{}{}", TimeText(transition.at), driverupgrade::ToString(transition.state),
                              transition.reason.empty() ? "" : ": ", transition.reason)));
  }
}

Section HistoryOf(const Request& request, const NodeStatus& node) {
  Section section{.title = "History"};
  std::vector<const EventFact*> events;
  for (const EventFact& event : request.facts.events) {
    if (event.node == node.name) events.push_back(&event);
  }
  const std::size_t first = events.size() - std::min(events.size(), kEventsShown);
  for (std::size_t i = first; i < events.size(); ++i) {
    const EventFact& event = *events[i];
    const absl::Time until = i + 1 < events.size() ? events[i + 1]->last : request.question.at;
    section.lines.push_back(Printable(fmt::format("{} {:>7}  {}{}{}", TimeText(event.last), Age(until - event.last),
                                                  event.warning ? "Warning: " : "", event.message,
                                                  event.count > 1 ? fmt::format(" ({} times)", event.count) : "")));
  }
  if (section.lines.empty()) AddTransitions(request, node, section.lines);
  if (section.lines.empty()) section.lines.emplace_back("no Events: Kubernetes keeps them for an hour");
  return section;
}

}  // namespace

absl::StatusOr<Explanation> ExplainNode(const Request& request, const RolloutStatus& status, std::string_view node) {
  const auto found = std::find_if(status.nodes.begin(), status.nodes.end(),
                                  [&](const NodeStatus& candidate) { return candidate.name == node; });
  const Node* object = FindNode(request, node);
  if (found == status.nodes.end() || object == nullptr) {
    return absl::NotFoundError(
        fmt::format("{}: has neither a driver pod nor a label of {}", std::string(node), status.driver));
  }
  Explanation explanation{.node = found->name, .help = HelpFor(request, *found)};
  for (Section& section :
       std::vector<Section>{StateOf(request, *found, *object), GateOf(request, *found), FindingsOf(status, node),
                            PodsOf(request, *found), DriverOf(request, *found), MaintenancesOf(request, *found),
                            FailedRequestsOf(request, *found), HistoryOf(request, *found)}) {
    if (!section.lines.empty()) explanation.sections.push_back(std::move(section));
  }
  return explanation;
}

std::string FormatExplanation(const Explanation& explanation, const Screen& screen) {
  std::string text = Paint(Printable(explanation.node), Colour::kBold, screen) + "\n";
  for (const Section& section : explanation.sections) {
    text += "\n" + Paint(section.title, Colour::kBold, screen) + "\n";
    for (const std::string& line : section.lines) text += "  " + line + "\n";
  }
  text += "\n" + Paint("What helps", Colour::kBold, screen) + "\n";
  text += "  " + explanation.help.text + "\n";
  for (const std::string& command : explanation.help.commands) {
    text += "    " + Paint(Printable(command), Colour::kGreen, screen) + "\n";
  }
  if (!explanation.help.page.empty()) text += fmt::format("  more: {}\n", explanation.help.page);
  return text;
}

}  // namespace upgradectl
