#include "upgradectl/status.h"

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <set>
#include <utility>

#include "decide/admission/upgrade_budget.h"
#include "fmt/format.h"
#include "model/node_marks.h"
#include "upgradectl/operator_health.h"
#include "upgradectl/reported.h"
#include "upgradectl/text.h"
#include "whatif/budgets.h"
#include "whatif/node_history.h"
#include "whatif/plan_json.h"

namespace upgradectl {
namespace {

using driverupgrade::ClusterObjects;
using driverupgrade::Gate;
using driverupgrade::GateReason;
using driverupgrade::Node;
using driverupgrade::Pod;
using driverupgrade::Tally;
using driverupgrade::UpgradeState;
using driverupgrade::whatif::EnteredState;
using driverupgrade::whatif::NodeReport;
using driverupgrade::whatif::Report;

// The history of existing nodes, from their Events. Events of deleted nodes, which remain for an hour, are ignored.
struct History {
  std::map<std::string, std::map<UpgradeState, absl::Time>> entered = {};
  // Time at which each node was last cordoned for an upgrade.
  std::map<std::string, absl::Time> started = {};
  // Durations of the nodes that this rollout has upgraded, and the time at which its first node was cordoned.
  std::vector<absl::Duration> took = {};
  std::optional<absl::Time> began = std::nullopt;
};

// Returns false for a node that waits, and for a done node with an old driver pod, which an earlier rollout has
// upgraded.
bool IsOfThisRollout(const NodeReport& node) {
  const UpgradeState state = node.plan.from;
  if (state == UpgradeState::kUnknown || state == UpgradeState::kUpgradeRequired) return false;
  return state != UpgradeState::kDone || (node.plan.path.empty() && !node.gate);
}

void MeasureRollout(const Report& report, History& history) {
  for (const NodeReport& node : report.nodes) {
    const auto started = history.started.find(node.plan.node);
    if (started == history.started.end() || !IsOfThisRollout(node)) continue;
    history.began = std::min(history.began.value_or(started->second), started->second);
    const auto& entered = history.entered[node.plan.node];
    const auto done = entered.find(UpgradeState::kDone);
    if (done != entered.end() && done->second >= started->second) {
      history.took.push_back(done->second - started->second);
    }
  }
  std::sort(history.took.begin(), history.took.end());
}

History HistoryOf(const Request& request, const Report& report) {
  History history;
  std::set<std::string_view> nodes;
  for (const Node& node : request.question.cluster.nodes) nodes.insert(node.name);
  for (const EventFact& event : request.facts.events) {
    const std::optional<UpgradeState> state = EnteredState(event);
    if (!state || !nodes.contains(event.node)) continue;
    history.entered[event.node][*state] = event.last;
    if (*state == UpgradeState::kCordonRequired) history.started[event.node] = event.last;
  }
  MeasureRollout(report, history);
  return history;
}

std::optional<absl::Time> Since(const Node& node, UpgradeState state, const Request& request, const History& history) {
  const auto marks = driverupgrade::internal::DecodeMarks(node, request.question.identity);
  if (const auto& stage = marks.stage.value(); stage && stage->state == state) return stage->began;
  const auto of_node = history.entered.find(node.name);
  if (of_node == history.entered.end()) return std::nullopt;
  const auto entered = of_node->second.find(state);
  return entered == of_node->second.end() ? std::nullopt : std::optional(entered->second);
}

std::optional<Remaining> RemainingOf(const RolloutStatus& status, const std::vector<absl::Duration>& took) {
  // With fewer nodes, the range is not meaningful.
  constexpr std::size_t kEnough = 3;
  const auto stays = std::count_if(status.nodes.begin(), status.nodes.end(), [](const NodeStatus& node) {
    const bool is_counted = node.state == UpgradeState::kFailed || node.state == UpgradeState::kDone;
    return !is_counted && node.gate && driverupgrade::TraitsOf(node.gate->reason).ends_rollout;
  });
  const int nodes = status.totals.total - status.totals.done - status.totals.not_ready - status.totals.failed -
                    static_cast<int>(stays);
  const bool stands = status.frozen || status.paused || status.budget.Halted();
  if (took.size() < kEnough || nodes <= 0 || stands) return std::nullopt;
  const int side_by_side = std::max(1, std::min({status.budget.parallel_max.value_or(INT_MAX),
                                                 status.budget.unavailable_max.value_or(INT_MAX), nodes}));
  const int waves = (nodes + side_by_side - 1) / side_by_side;
  const auto quantile = [&](std::size_t percent) { return took[(took.size() - 1) * percent / 100] * waves; };
  return Remaining{
      .low = quantile(10), .middle = quantile(50), .high = quantile(90), .measured = static_cast<int>(took.size())};
}

// A holder starts with the name of its pod, which starts with the name of the Deployment. If several Deployments match,
// uses the longest name.
std::string VersionOf(const LeaseFact& leader, const Facts& facts) {
  const DeploymentFact* found = nullptr;
  for (const DeploymentFact& deployment : facts.deployments) {
    const bool is_its = deployment.ns == leader.ns && leader.holder.starts_with(deployment.name + "-");
    if (is_its && (found == nullptr || found->name.size() < deployment.name.size())) found = &deployment;
  }
  return found == nullptr ? "" : found->version;
}

Phase PhaseOf(const Tally& totals) {
  if (totals.failed > 0) return Phase::kFailed;
  return totals.pending + totals.in_progress + totals.not_ready > 0 ? Phase::kUnderWay : Phase::kDone;
}

// Nodes without a label, and nodes that are done but have an old driver pod, also count as waiting.
Phase PhaseOf(const RolloutStatus& status) {
  const bool waits = std::any_of(status.nodes.begin(), status.nodes.end(), [](const NodeStatus& node) {
    return node.moves || (node.gate && !driverupgrade::TraitsOf(node.gate->reason).ends_rollout);
  });
  const Phase phase = PhaseOf(status.totals);
  return phase == Phase::kDone && waits ? Phase::kUnderWay : phase;
}

void AddPod(const Pod& pod, NodeStatus& node) {
  node.pod = pod.ref.ToString();
  node.revision = driverupgrade::RevisionHash(pod);
  node.pod_ready = driverupgrade::IsReady(pod);
}

std::map<std::string, const Pod*> DriverPods(const Request& request) {
  std::map<std::string, const Pod*> pods;
  for (const Pod& pod : request.question.cluster.pods) {
    if (pod.ref.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(pod.labels)) {
      pods[pod.node_name] = &pod;
    }
  }
  return pods;
}

std::vector<NodeStatus> NodesOf(const Request& request, const Report& report, const History& history) {
  std::map<std::string_view, const Node*> nodes;
  for (const Node& node : request.question.cluster.nodes) nodes[node.name] = &node;
  const std::map<std::string, const Pod*> pods = DriverPods(request);
  std::vector<NodeStatus> rows;
  for (const NodeReport& node_report : report.nodes) {
    NodeStatus row{
        .name = node_report.plan.node, .state = node_report.plan.from, .gate = TrueGate(request, node_report)};
    row.moves = !row.gate && !node_report.plan.path.empty();
    if (const auto node = nodes.find(row.name); node != nodes.end()) {
      row.since = Since(*node->second, row.state, request, history);
      row.cordoned = node->second->unschedulable;
      row.ready = node->second->ready;
      if (const auto cause = node->second->annotations.find(request.question.identity.FailureCauseAnnotation());
          cause != node->second->annotations.end() && row.state == UpgradeState::kFailed) {
        row.failure_cause = cause->second;
      }
    }
    if (const auto pod = pods.find(row.name); pod != pods.end()) AddPod(*pod->second, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Returns the failure of the last request for the node, if nothing else explains why the node stays in its state.
// Returns an empty string if the node has entered another state since the request failed. Because times have a
// resolution of one second, a transition in the same second counts as later.
std::string FailureOf(const NodeView& node, absl::Time at) {
  // The engine retries a failed request sooner than this, so after an older failure, another request has succeeded.
  constexpr absl::Duration kRecent = absl::Minutes(15);
  const std::optional<Gate>& gate = node.status.gate;
  if (node.failed_requests.empty() || (gate && gate->reason != GateReason::kUnsettled)) return "";
  const FailedRequest& last = node.failed_requests.back();
  const bool has_moved = !node.transitions.empty() && node.transitions.back().at >= last.at;
  return has_moved || at - last.at > kRecent ? "" : last.message;
}

// Adds the values of the operator's view that upgradectl's own pass does not provide.
void AddView(const OperatorView& view, RolloutStatus& status) {
  status.frozen = !view.fleet.auto_upgrade;
  status.paused = view.fleet.paused;
  status.budget = view.fleet.budget;
  status.operator_pass = OperatorPass{.age = view.at - view.last_pass.value_or(view.at), .error = view.last_error};
  for (NodeStatus& node : status.nodes) {
    const NodeView* seen = view.Find(node.name);
    if (seen == nullptr) continue;
    if (!node.since) node.since = seen->status.since;
    node.request_failure = FailureOf(*seen, view.at);
  }
}

// Limits the time to the present, because the clock of the engine that wrote the record may be fast.
std::optional<absl::Time> BeganOf(const Request& request, const Report& report, const History& history) {
  if (!report.rollout || !report.rollout->began) return history.began;
  return std::min(*report.rollout->began, request.question.at);
}

}  // namespace

std::optional<driverupgrade::Finding> NoDriverAtAll(const Request& request, const driverupgrade::Tally& totals) {
  const auto& sets = request.question.cluster.daemon_sets;
  const bool any = std::any_of(sets.begin(), sets.end(), [&](const driverupgrade::DaemonSet& set) {
    return set.ns == request.place.ns && request.question.snapshot.driver_labels.Matches(set.labels);
  });
  if (any || totals.total > 0) return std::nullopt;
  return driverupgrade::Finding{
      .code = driverupgrade::FindingCode::kNoDaemonSet,
      .message = fmt::format("no node has the driver, and no DaemonSet in namespace {} matches {}", request.place.ns,
                             request.question.snapshot.driver_labels.ToString())};
}

std::string NoRecord(const Request& request) {
  if (request.place.ledger.empty()) return "the record of the rollout: set --ledger-name to the name of its ConfigMap";
  return fmt::format("the record of the rollout: missing in the ledger {}/{}", request.place.ledger_ns,
                     request.place.ledger);
}

std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kDone: return "done";
    case Phase::kUnderWay: return "under way";
    case Phase::kFailed: return "failed";
  }
  return "unknown";
}

bool HasEnded(const RolloutStatus& status) {
  if (status.phase != Phase::kFailed) return status.phase == Phase::kDone;
  return std::all_of(status.nodes.begin(), status.nodes.end(), [](const NodeStatus& node) {
    if (node.moves) return false;
    if (!node.gate) return node.state == UpgradeState::kDone && (node.pod.empty() || node.pod_ready);
    const driverupgrade::GateTraits& traits = driverupgrade::TraitsOf(node.gate->reason);
    // A node that waits for its turn can start only after another node has made progress.
    const bool waits_for_turn = node.gate->reason == GateReason::kMaxParallel ||
                                node.gate->reason == GateReason::kMaxUnavailable ||
                                node.gate->reason == GateReason::kStage || node.gate->reason == GateReason::kGroup;
    return waits_for_turn || traits.ends_rollout || traits.opener == driverupgrade::GateOpener::kAdministrator;
  });
}

std::optional<Gate> TrueGate(const Request& request, const NodeReport& report) {
  // Ignores PodsUnknown if the node would enter another state, because an operator reads the pods only in that state.
  const bool would_read = report.gate && report.gate->reason == GateReason::kPodsUnknown && !report.plan.path.empty();
  if (would_read) return std::nullopt;
  if (report.plan.evict.empty() || !report.gate || report.gate->reason != GateReason::kPodsTerminating) {
    return report.gate;
  }
  const ClusterObjects& cluster = request.question.cluster;
  const driverupgrade::whatif::Budgets budgets(cluster, request.facts);
  for (const Pod& pod : cluster.pods) {
    const auto& evict = report.plan.evict;
    const bool evicted = pod.node_name == report.plan.node &&
                         std::any_of(evict.begin(), evict.end(),
                                     [&](const auto& ref) { return ref.ns == pod.ref.ns && ref.name == pod.ref.name; });
    if (!evicted) continue;
    if (std::optional<Gate> refusal = budgets.Refusal(pod)) {
      refusal->not_before = report.gate->not_before;
      refusal->fails_at = report.gate->fails_at;
      return refusal;
    }
  }
  return report.gate;
}

Report ReportOf(const OperatorView& view) {
  Report report{.totals = view.fleet.totals, .findings = view.fleet.findings, .rollout = view.fleet.rollout};
  for (const NodeView& node : view.nodes) {
    report.nodes.push_back({.plan = {.node = node.status.name, .from = node.status.state}, .gate = node.status.gate});
  }
  return report;
}

RolloutStatus StatusOf(const Request& request, const Report& report) {
  const History history = HistoryOf(request, report);
  const driverupgrade::UpgradePolicy& policy = request.question.policy;
  RolloutStatus status{.driver = request.question.identity.Name(),
                       .policy_source = request.policy_source,
                       .policy_reporter = request.policy_reporter,
                       .at = request.question.at,
                       .frozen = !policy.auto_upgrade,
                       .paused = policy.paused,
                       .totals = report.totals,
                       .budget = driverupgrade::internal::ComputeBudget(report.totals, policy),
                       .rollout = report.rollout,
                       .began = BeganOf(request, report, history),
                       .leader = LeaseOf(request.question.identity, request.place, request.facts),
                       .operator_trouble = OperatorTrouble(request),
                       .view_trouble = request.view_trouble,
                       .nodes = NodesOf(request, report, history),
                       .findings = report.findings,
                       .notes = request.notes};
  for (const NodeReport& node : report.nodes) {
    status.findings.insert(status.findings.end(), node.findings.begin(), node.findings.end());
  }
  if (status.leader) status.leader_version = VersionOf(*status.leader, request.facts);
  if (request.view) AddView(*request.view, status);
  status.phase = PhaseOf(status);
  if (auto none = NoDriverAtAll(request, report.totals)) {
    status.findings.push_back(*std::move(none));
    status.phase = Phase::kFailed;
  }
  // If the server refuses to return the ledger, a note already says so.
  const bool is_told = std::any_of(status.notes.begin(), status.notes.end(), [](const std::string& note) {
    return note.find("/configmaps: ") != std::string::npos;
  });
  const bool has_record = !request.question.rollout_record.value_or("").empty();
  if (status.rollout && status.phase != Phase::kDone && !has_record && !is_told) {
    status.notes.push_back(NoRecord(request));
  }
  status.remaining = RemainingOf(status, history.took);
  return status;
}

}  // namespace upgradectl
