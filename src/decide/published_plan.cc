#include "decide/published_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/marks_of_view.h"
#include "decide/step_parts.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade::internal {
namespace {

// Returns the entry of the node in the queue. The node must be waiting for a slot.
WaitingNode WaitingOf(const JudgedNode& node) { return {.node = node.name, .candidate = *node.verdict.candidate}; }

// Returns the time at which the node entered `state` according to its marks; nullopt if no mark shows it.
std::optional<absl::Time> SinceOf(const NodeMarks& marks, UpgradeState state) {
  const std::optional<Stage>& stage = marks.stage.value();
  if (stage && stage->state == state) return stage->began;
  if (state == UpgradeState::kFailed && marks.failures.value()) return marks.failures.value()->last;
  return std::nullopt;
}

bool IsUpToDate(const DriverPodMarks& pod, const DriverFacts& driver) {
  return std::any_of(driver.daemon_sets.begin(), driver.daemon_sets.end(), [&](const auto& daemon_set) {
    return pod.owner_uid == daemon_set.first && daemon_set.second.wanted_revision == pod.revision;
  });
}

// Same as DriverRuns, but uses the decoded data and does not read the Pod objects.
bool DriverRunsBy(const DriverPodsOfView& pods, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!pods[i].ready || pods[i].terminating) return false;
  }
  return count > 0;
}

// Returns the status of the node, without the gate and the stage.
NodeStatus StatusOf(const JudgedNode& node, const PublishedPlan::Parts& parts) {
  const NodeView& view = *node.view;
  const MarksOfView marks(view, *parts.identity);
  const DriverPodsOfView pods(view);
  NodeStatus status{.name = node.name,
                    .state = node.verdict.from,
                    .since = SinceOf(*marks, node.verdict.from),
                    .driver_ready = DriverRunsBy(pods, view.driver_pods.size()),
                    .unavailable = node.tally.unavailable > 0};
  if (view.driver_pods.size() == 1) {
    status.revision = pods[0].revision;
    status.up_to_date = IsUpToDate(pods[0], *parts.driver);
  }
  if (!parts.group_label.empty()) {
    const auto label = view.node.labels.find(parts.group_label);
    if (label != view.node.labels.end()) status.group = label->second;
  }
  return status;
}

}  // namespace

std::optional<std::size_t> RolloutWaits::IndexOf(std::string_view node) const {
  const auto name = std::lower_bound(names->begin(), names->end(), node);
  if (name == names->end() || *name != node) return std::nullopt;
  return static_cast<std::size_t>(name - names->begin());
}

auto RolloutWaits::WaitOf(std::string_view node) const -> const Wait* {
  const std::optional<std::size_t> index = IndexOf(node);
  return index && nodes[*index].gate != nullptr ? &nodes[*index] : nullptr;
}

std::optional<std::size_t> RolloutWaits::StageOf(std::string_view node) const {
  const std::optional<std::size_t> index = IndexOf(node);
  if (!index || stages == nullptr) return std::nullopt;
  return static_cast<std::size_t>((*stages)[*index]);
}

std::optional<Gate> RolloutWaits::GateAtPlace(std::string_view node) const {
  const Wait* wait = WaitOf(node);
  if (wait == nullptr) return std::nullopt;
  return AtPlace(*wait->gate, wait->place);
}

PublishedPlan::PublishedPlan(Parts parts) : parts_(std::make_unique<const Parts>(std::move(parts))) {}
PublishedPlan::~PublishedPlan() = default;

std::optional<Gate> PublishedPlan::Explain(const std::string& node) const {
  const JudgedNode* found = parts_->nodes.Find(node);
  if (found == nullptr) return std::nullopt;
  const std::optional<Candidate>& candidate = found->verdict.candidate;
  if (!candidate || parts_->rollout != nullptr) return GateOf({.node = found});
  const WaitingNode waiting{.node = node, .candidate = *candidate};
  int place = 1;
  parts_->nodes.ForEach([&](const JudgedNode& other) {
    if (other.verdict.candidate && GoesBefore(WaitingOf(other), waiting)) ++place;
  });
  return GateOf({.node = found, .place = place});
}

auto PublishedPlan::ByName() const -> std::vector<Placed> {
  std::vector<Placed> nodes;
  parts_->nodes.ForEach([&](const JudgedNode& node) { nodes.push_back({.node = &node}); });
  std::sort(nodes.begin(), nodes.end(), [](const Placed& a, const Placed& b) { return a.node->name < b.node->name; });
  if (parts_->rollout != nullptr) return nodes;
  std::vector<Placed*> waiting;
  for (Placed& placed : nodes) {
    if (placed.node->verdict.candidate) waiting.push_back(&placed);
  }
  const auto goes_before = [](const Placed* a, const Placed* b) {
    return GoesBefore(WaitingOf(*a->node), WaitingOf(*b->node));
  };
  std::sort(waiting.begin(), waiting.end(), goes_before);
  for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i]->place = static_cast<int>(i) + 1;
  return nodes;
}

std::optional<Gate> PublishedPlan::GateOf(const Placed& placed) const {
  const JudgedNode& node = *placed.node;
  if (!node.verdict.candidate) return node.verdict.gate;
  if (parts_->rollout != nullptr) return parts_->rollout->GateAtPlace(node.name);
  return AtPlace(parts_->refusals.Of(WaitingOf(node)), placed.place);
}

Plan PublishedPlan::Full() const {
  Plan plan = parts_->plan;
  for (const Placed& placed : ByName()) {
    KeptVerdict verdict = CopyOf(placed.node->verdict);
    verdict.gate = GateOf(placed);
    AddVerdict(placed.node->name, std::move(verdict), plan);
  }
  // Removes duplicates, because the list already contained the nodes whose pods the rollout needs.
  std::sort(plan.pod_interest.begin(), plan.pod_interest.end());
  plan.pod_interest.erase(std::unique(plan.pod_interest.begin(), plan.pod_interest.end()), plan.pod_interest.end());
  return plan;
}

const std::optional<RolloutStatus>& PublishedPlan::Rollout() const { return parts_->plan.rollout; }

FleetStatus PublishedPlan::Status() const {
  const Plan& plan = parts_->plan;
  FleetStatus status{.auto_upgrade = parts_->auto_upgrade,
                     .paused = parts_->paused,
                     .totals = plan.totals,
                     .budget = plan.budget,
                     .rollout = plan.rollout,
                     .findings = plan.findings};
  const std::vector<Placed> nodes = ByName();
  status.nodes.reserve(nodes.size());
  for (const Placed& placed : nodes) {
    const JudgedNode* node = placed.node;
    NodeStatus& shown = status.nodes.emplace_back(StatusOf(*node, *parts_));
    shown.gate = GateOf(placed);
    const std::vector<Finding>& findings = node->verdict.findings;
    status.findings.insert(status.findings.end(), findings.begin(), findings.end());
    if (parts_->rollout == nullptr || !plan.rollout) continue;
    const std::optional<std::size_t> stage = parts_->rollout->StageOf(node->name);
    if (stage && *stage < plan.rollout->stages.size()) shown.stage = plan.rollout->stages[*stage].name;
  }
  return status;
}

}  // namespace driverupgrade::internal
