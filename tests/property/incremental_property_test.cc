// arch-A10: an incremental plan for the changed nodes must match Step's plan for all nodes.
#include <algorithm>
#include <map>
#include <string>
#include <variant>

#include "decide/admission/queue.h"
#include "decide/incremental_planner.h"
#include "decide/verdict.h"
#include "model/node_marks.h"
#include "property/naive_step.h"
#include "property/random_requestor.h"
#include "property/seeds.h"

namespace driverupgrade::tests {
namespace {

using internal::IncrementalPlanner;
using internal::PlanUpdate;
using internal::PublishedPlan;

constexpr int kOperations = 30;

// Puts the node into a random state in which our own upgrade waits for pods, for a deadline or for a repair.
void LeaveWaiting(SeededRandom& random, const DriverIdentity& identity, NodeView& view) {
  Node& node = view.node;
  const std::string state = random.Pick({"drain-required", "pod-deletion-required", "pod-restart-required",
                                         "validation-required", "upgrade-failed", "upgrade-failed"});
  const std::string recent = fmt::format("{}", absl::ToUnixSeconds(kRandomNow) - random.Below(60));
  node.labels[identity.StateLabel()] = state;
  node.annotations = {{std::string(kCordonedByAnnotation), identity.Name()},
                      {identity.StageAnnotation(), fmt::format("{}@{}@{}", state, recent, kWantedRevision)}};
  if (state == "upgrade-failed") {
    node.annotations.erase(identity.StageAnnotation());
    node.annotations[identity.FailedRevisionAnnotation()] = kWantedRevision;
    node.annotations[identity.FailuresAnnotation()] = "1@" + recent;
  }
  if (random.Chance(30)) node.annotations[identity.SafeLoadAnnotation()] = "true";
  node.unschedulable = true;
  node.ready = random.Chance(50);
  view.attempts.patch.reset();
  if (view.pods && random.Chance(70)) {
    for (Pod& pod : *view.pods) pod.deletion_timestamp = kRandomNow + absl::Seconds(random.Between(-1, 40));
  }
}

void AddGangs(SeededRandom& random, std::vector<Pod>& pods) {
  for (Pod& pod : pods) {
    if (random.Chance(40)) pod.labels["ray.io/cluster"] = random.Pick({"a", "b", "c"});
    if (random.Chance(20)) pod.annotations["driverupgrade/may-stop"] = "true";
  }
}

std::shared_ptr<const NodeView> RandomView(SeededRandom& random, const DriverIdentity& identity,
                                           const std::string& name) {
  NodeView view = RandomNode(random, identity, name, RandomWorkloads(random, name));
  AddMaintenances(random, view);
  // Compared with RandomNode, more nodes request a slot, and fewer nodes have an unanswered patch.
  if (random.Chance(35)) view.node.labels[identity.StateLabel()] = "upgrade-required";
  if (random.Chance(60)) view.attempts.patch.reset();
  if (random.Chance(30)) LeaveWaiting(random, identity, view);
  if (random.Chance(20)) view.node.annotations[identity.RequestorModeAnnotation()] = "true";
  if (random.Chance(10)) view.node.uid += "-again";  // re-created under the same name
  if (view.pods) AddGangs(random, *view.pods);
  if (random.Chance(80)) view.node.labels["rack"] = random.Pick({"a", "b", "c"});
  if (random.Chance(25)) {
    view.node.annotations[identity.RolloutLabelsAnnotation()] = random.Pick({"rack=a", "rack=b", "rack", ""});
  }
  if (random.Chance(10)) view.node.conditions["GpuHealthy"] = random.Pick({"True", "False"});
  return std::make_shared<const NodeView>(std::move(view));
}

RolloutPolicy RandomRollout(SeededRandom& random) {
  RolloutPolicy rollout;
  for (int i = random.Below(3); i > 0; --i) {
    RolloutStage stage{.name = fmt::format("s{}", i)};
    stage.nodes = random.Pick<std::variant<CountOrPercent, LabelSelector>>(
        {CountOrPercent(Count{2}), CountOrPercent(Percent{30}), LabelSelector::Parse("rack=a").value()});
    if (random.Chance(50)) stage.max_parallel = random.Between(1, 2);
    if (random.Chance(50)) stage.max_failures = Count{random.Below(2)};
    stage.soak = absl::Seconds(random.Pick({0, 30, 600}));
    stage.approval = random.Pick({Approval::kAutomatic, Approval::kManual});
    rollout.stages.push_back(std::move(stage));
  }
  if (random.Chance(30)) rollout.order = {{.by = OrderBy::kTopology, .label = "rack"}};
  if (random.Chance(30)) rollout.order.push_back({.by = random.Pick({OrderBy::kIdle, OrderBy::kFewestPods})});
  if (random.Chance(60)) {
    rollout.groups = NodeGroups{
        .by = "rack", .mode = random.Pick({GroupMode::kTogether, GroupMode::kOneAtATime, GroupMode::kSpread})};
  } else if (random.Chance(70)) {
    rollout.gangs = NodeGangs{.mode = random.Pick({GangMode::kTogether, GangMode::kTogether, GangMode::kWhenDone}),
                              .too_big = random.Pick({TooBig::kWait, TooBig::kSplit}),
                              .wait = absl::Seconds(random.Pick({0, 0, 30, 600}))};
  }
  if (random.Chance(30)) rollout.windows = {{.start = absl::Hours(random.Below(24)), .duration = absl::Hours(12)}};
  if (random.Chance(30)) {
    rollout.health = RolloutHealth{.node_conditions = {{.type = "GpuHealthy", .status = "False"}},
                                   .max_driver_restarts = random.Below(3)};
    if (random.Chance(50)) rollout.health->pod_selector = LabelSelector::Parse("app=web").value();
  }
  return rollout;
}

StateMachine RandomMachine(const RandomCluster& cluster, SeededRandom& random) {
  StateMachineOptions options = cluster.machine.options();
  if (random.Chance(50)) {
    options.requestor = RequestorOptions{.id = "nvidia.gpu-operator", .ns = "maintenance"};
    options.requestor->enabled = random.Chance(50);
  }
  return {cluster.machine.identity(), options, cluster.machine.pod_deletion()};
}

// Applies IncrementalPlanner::Withhold to a complete plan.
void Withhold(const std::map<std::string, Gate>& gates, Plan& plan) {
  const auto is_withheld = [&](const auto& node) { return gates.contains(node.node); };
  std::erase_if(plan.gates, is_withheld);
  for (const NodePlan& node : plan.nodes) {
    if (!is_withheld(node)) continue;
    const Gate& gate = gates.at(node.node);
    plan.gates.push_back({.node = node.node, .state = node.from, .gate = gate});
    if (gate.not_before) plan.wake_at = std::min(*gate.not_before, plan.wake_at.value_or(absl::InfiniteFuture()));
  }
  std::erase_if(plan.nodes, is_withheld);
  std::sort(plan.gates.begin(), plan.gates.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
}

// Changes the inputs of an IncrementalPlanner at random, and compares the planner's plans with those of NaiveStep.
class Twin {
 public:
  explicit Twin(const RandomCluster& cluster)
      : random_(cluster.seed),
        machine_(RandomMachine(cluster, random_)),
        now_(cluster.now),
        policy_(cluster.policy),
        driver_(cluster.snapshot.driver),
        findings_(cluster.snapshot.findings),
        active_since_(cluster.snapshot.active_since),
        planner_(machine_) {
    for (const auto& view : cluster.snapshot.nodes) Update(RandomView(random_, machine_.identity(), view->node.name));
    if (random_.Chance(50)) policy_.rollout = RandomRollout(random_);
    planner_.SetPolicy(policy_);
    planner_.SetDriver(driver_, findings_);
    planner_.SetActiveSince(active_since_);
  }

  std::string Run() {
    for (int i = 0; i < kOperations; ++i) {
      const std::string operation = Change();
      if (random_.Chance(20)) continue;  // several changes between two passes
      if (std::string broken = Compare(); !broken.empty()) {
        return fmt::format("operation {}, {}: {}", i, operation, broken);
      }
    }
    return "";
  }

 private:
  std::string Change() {
    switch (random_.Below(18)) {
      case 0:
      case 1: return Replace();
      case 2: return Alter();
      case 3: return Add();
      case 4: return RemoveOne();
      case 5: return ChangePolicy();
      case 6: return ChangeDriver();
      case 7: return ChangeActiveSince();
      case 8: return "nothing";
      case 9:
      case 10: return ChangeGrants();
      case 11: return ChangeSharedSlots();
      case 12:
      case 13: return StoreRecord();
      case 14: return ChangeRollout();
      default: return PassTime();
    }
  }

  std::string Replace() {
    if (views_.empty()) return "nothing";
    const std::string name = AnyNode();
    Update(RandomView(random_, machine_.identity(), name));
    return "another view of " + name;
  }
  // Makes a small change to a node, as a watch event or a response would.
  std::string Alter() {
    if (views_.empty()) return "nothing";
    const std::string name = AnyNode();
    NodeView view = *views_.at(name);
    switch (random_.Below(4)) {
      case 0: view.node.ready = !view.node.ready; break;
      case 1: view.node.unschedulable = !view.node.unschedulable; break;
      case 2: view.attempts = {}; break;
      default: view.pods.emplace(); break;
    }
    Update(std::make_shared<const NodeView>(std::move(view)));
    return "a change of " + name;
  }
  std::string Add() {
    const std::string name = fmt::format("new-{}", random_.Below(20));
    Update(RandomView(random_, machine_.identity(), name));
    return "new node " + name;
  }
  std::string RemoveOne() {
    if (views_.empty()) return "nothing";
    const std::string name = AnyNode();
    planner_.Remove(name);
    views_.erase(name);
    if (random_.Chance(30)) Update(RandomView(random_, machine_.identity(), name));
    return "removed " + name;
  }
  std::string ChangePolicy() {
    if (random_.Chance(50)) {
      policy_ = RandomPolicy(random_);
      if (random_.Chance(50)) policy_.rollout = RandomRollout(random_);
    } else {
      policy_.max_parallel = random_.Between(0, 6);
      policy_.max_unavailable = Count{random_.Between(0, 9)};
    }
    planner_.SetPolicy(policy_);
    return "policy";
  }
  std::string ChangeSharedSlots() {
    shared_slots_.reset();
    if (random_.Chance(70)) shared_slots_ = SharedSlots{.max = random_.Below(9), .used_elsewhere = random_.Below(5)};
    if (shared_slots_ && random_.Chance(20)) shared_slots_->used_elsewhere.reset();
    planner_.SetSharedSlots(shared_slots_);
    return "shared slots";
  }
  // Stores the rollout record, as the engine does after a pass.
  std::string StoreRecord() {
    const std::optional<RolloutStatus> status = published_then_.rollout;
    if (!status || !status->record) return "nothing";
    rollout_.record = status->record;
    planner_.SetRollout(rollout_);
    return "record";
  }
  std::string ChangeRollout() {
    switch (random_.Below(5)) {
      case 0: rollout_.record.reset(); break;
      case 1: rollout_.record = "garbage"; break;
      case 2: rollout_.sick = random_.Pick({"", "a canary is sick"}); break;
      case 3: rollout_.took = {absl::Seconds(random_.Between(1, 900))}; break;
      default: {
        DriverFacts facts = *driver_;
        const std::string stage = random_.Pick({"s1", "s2", "rest"});
        for (auto& [uid, daemon_set] : facts.daemon_sets) {
          daemon_set.daemon_set.annotations[machine_.identity().ApprovedAnnotation()] =
              stage + "@" + daemon_set.wanted_revision.value_or("");
        }
        driver_ = std::make_shared<const DriverFacts>(std::move(facts));
        planner_.SetDriver(driver_, findings_);
      }
    }
    planner_.SetRollout(rollout_);
    return "facts of the rollout";
  }
  std::string ChangeDriver() {
    DriverFacts facts = RandomFacts(random_);
    findings_.clear();
    if (random_.Chance(50)) findings_.push_back({.code = FindingCode::kNodeMissing, .node = "gone", .message = "x"});
    driver_ = std::make_shared<const DriverFacts>(std::move(facts));
    planner_.SetDriver(driver_, findings_);
    return "driver";
  }
  std::string ChangeActiveSince() {
    active_since_ = now_ - absl::Seconds(random_.Pick({0, 1, 59, 100'000}));
    planner_.SetActiveSince(active_since_);
    return "active since";
  }
  std::string ChangeGrants() {
    if (random_.Chance(15)) grants_.clear();
    for (int i = random_.Below(5); i > 0; --i) {
      if (views_.empty() || random_.Chance(15)) {
        grants_[fmt::format("elsewhere-{}", random_.Below(3))] = random_.Pick<std::string>({"", "7"});
        continue;
      }
      const Node& node = views_.at(AnyNode())->node;
      if (random_.Chance(15)) {
        grants_.erase(node.uid);
      } else {
        grants_[node.uid] = random_.Pick<std::string>({"", "1", "1000", node.resource_version, node.resource_version});
      }
    }
    planner_.SetGrants(grants_);
    return "grants";
  }
  std::string PassTime() {
    const absl::Time wake = planner_.Publish()->Full().wake_at.value_or(now_ + absl::Seconds(1));
    switch (random_.Below(6)) {
      case 0: now_ = std::max(now_, wake); break;
      case 1: now_ = std::max(now_, wake) + absl::Milliseconds(random_.Pick({1, 999, 1'000, 60'000})); break;
      case 2: now_ += (std::max(now_, wake) - now_) / 2; break;
      case 3: now_ -= absl::Milliseconds(random_.Below(3'000)); break;
      default: now_ += absl::Milliseconds(random_.Pick({1, 10, 500, 1'000, 4'999, 61'000, 3'600'000})); break;
    }
    return "time";
  }

  std::string AnyNode() { return std::next(views_.begin(), random_.Below(static_cast<int>(views_.size())))->first; }
  void Update(std::shared_ptr<const NodeView> view) {
    views_[view->node.name] = view;
    planner_.Update(std::move(view));
  }

  std::string Compare() {
    ClusterSnapshot snapshot{.grants = grants_,
                             .shared_slots = shared_slots_,
                             .rollout = rollout_,
                             .driver = driver_,
                             .active_since = active_since_,
                             .findings = findings_};
    for (const auto& [name, view] : views_) snapshot.nodes.push_back(view);
    const Plan step = NaiveStep(machine_, snapshot, policy_, now_);
    if (random_.Chance(50)) {
      if (std::string broken = AdvanceInPieces(); !broken.empty()) return broken;
    }
    const PlanUpdate update = planner_.Advance(now_);
    if (!update.plan.finished) return "not finished, although all nodes may be evaluated";
    // A published plan must not change, no matter what the planner does later.
    if (published_ != nullptr && published_->Full() != published_then_) return "a published plan has changed";
    published_ = planner_.Publish();
    const Plan full = published_then_ = published_->Full();
    if (full != step) return fmt::format("{}instead of\n{}", Describe(full), Describe(step));
    if (std::string broken = BrokenUpdate(update, step); !broken.empty()) return broken;
    for (const NodeGate& gate : step.gates) {
      if (planner_.Publish()->Explain(gate.node) != gate.gate) return "Explain returns another gate for " + gate.node;
    }
    if (planner_.Publish()->Explain("no such node")) return "Explain returns a gate for a node that does not exist";
    return random_.Chance(30) ? CompareWithheld(step) : "";
  }

  // Advances by a few nodes at a time, until a plan is finished or a random number of calls has been made. In the
  // latter case, the next Advance handles the remaining nodes.
  std::string AdvanceInPieces() {
    for (int piece = random_.Between(1, 30); piece > 0; --piece) {
      const auto most = static_cast<std::size_t>(random_.Below(4));
      const std::uint64_t before = planner_.judgements();
      const std::size_t acted = acting_;
      const PlanUpdate update =
          planner_.Advance(now_, {.judged = most, .told = most, .has_all_views = random_.Chance(90)});
      acting_ = update.plan.nodes.size();
      if (std::string broken = Tell(update); !broken.empty()) return broken;
      if (update.plan.finished) return "";
      if (planner_.judgements() - before > most + acted) return "a piece evaluates more nodes than the limit allows";
      for (const NodePlan& node : update.plan.nodes) {
        if (node.needs_grant) return node.node + " starts although not all nodes have been evaluated";
      }
    }
    return "";
  }

  std::string Tell(const PlanUpdate& update) {
    for (const std::string& name : update.ungated) {
      if (told_.erase(name) == 0) return name + " had no gate";
    }
    for (const NodeGate& gate : update.plan.gates) told_[gate.node] = {gate.state, gate.gate.reason};
    return "";
  }

  // Withholds some starts, as if the ledger had no grants for them.
  std::string CompareWithheld(Plan step) {
    std::map<std::string, Gate> gates;
    for (const NodePlan& node : step.nodes) {
      if (!node.needs_grant || random_.Chance(40)) continue;
      gates[node.node] = {.reason = GateReason::kLedger, .detail = "x"};
      if (random_.Chance(50)) gates[node.node].not_before = now_ + absl::Seconds(random_.Between(1, 30));
    }
    const PlanUpdate update = planner_.Withhold(gates);
    Withhold(WithGroups(std::move(gates), step), step);
    step.readings = update.plan.readings;
    if (planner_.Publish()->Full() != step) {
      return fmt::format("withheld: {}instead of\n{}", Describe(planner_.Publish()->Full()), Describe(step));
    }
    return BrokenUpdate(update, step);
  }

  // Returns `gates` with a gate for each node that must wait because a node of its group or gang waits. Nodes that
  // start together also wait together.
  std::map<std::string, Gate> WithGroups(std::map<std::string, Gate> gates, const Plan& step) const {
    if (!step.rollout || (!policy_.rollout->groups && !policy_.rollout->gangs)) return gates;
    if (policy_.rollout->groups && policy_.rollout->groups->mode != GroupMode::kTogether) return gates;
    std::map<std::string, std::string> units;
    for (const NodePlan& node : step.nodes) {
      if (!policy_.rollout->gangs || !node.patch) continue;
      const auto unit = node.patch->annotations.find(machine_.identity().UnitAnnotation());
      if (unit != node.patch->annotations.end() && unit->second) units[node.node] = "=" + *unit->second;
    }
    const auto rack_of = [&](const std::string& node) {
      if (policy_.rollout->gangs) return units.contains(node) ? units.at(node) : node;
      const Node& on = views_.at(node)->node;
      const internal::NodeMarks marks = internal::DecodeMarks(on, machine_.identity());
      const StringMap labels = internal::RolloutLabels(on, marks);
      return labels.contains("rack") ? "=" + labels.at("rack") : node;
    };
    const std::map<std::string, Gate> given = gates;
    for (const NodePlan& node : step.nodes) {
      if (!IsStart(node.node) || given.contains(node.node)) continue;
      for (const auto& [waiting, gate] : given) {
        if (rack_of(waiting) != rack_of(node.node) || !IsStart(waiting)) continue;
        gates[node.node] = {.reason = GateReason::kGroup,
                            .detail = fmt::format("starts together with node {}, which is waiting", waiting),
                            .not_before = gate.not_before};
        break;
      }
    }
    return gates;
  }
  // Returns whether the node, evaluated separately, would wait for a slot.
  bool IsStart(const std::string& node) const {
    return machine_.Judge(*views_.at(node), *driver_, policy_, now_, active_since_, /*admitted=*/false)
        .candidate.has_value();
  }

  static std::vector<std::string> InterestOf(const IncrementalPlanner& planner) {
    return {planner.pod_interest().begin(), planner.pod_interest().end()};
  }

  std::string BrokenUpdate(const PlanUpdate& update, const Plan& step) {
    const bool same = update.plan.nodes == step.nodes && update.plan.totals == step.totals &&
                      update.plan.budget == step.budget && update.plan.findings == step.findings &&
                      update.plan.wake_at == step.wake_at && update.plan.pod_interest.empty() &&
                      InterestOf(planner_) == step.pod_interest && update.plan.readings == step.readings &&
                      update.plan.rollout == step.rollout;
    if (!same) return fmt::format("the update\n{}", Describe(update.plan));
    if (std::string broken = Tell(update); !broken.empty()) return broken;
    acting_ = update.plan.nodes.size();
    std::map<std::string, std::pair<UpgradeState, GateReason>> gates;
    for (const NodeGate& gate : step.gates) gates[gate.node] = {gate.state, gate.gate.reason};
    for (const auto& [name, view] : views_) {
      if (!gates.contains(name) && planner_.Publish()->Explain(name)) return "explains a gate that is none: " + name;
    }
    return gates == told_ ? "" : "the gates that were told are not those that are";
  }

  SeededRandom random_;
  StateMachine machine_;
  absl::Time now_;
  UpgradePolicy policy_;
  std::shared_ptr<const DriverFacts> driver_;
  std::vector<Finding> findings_;
  absl::Time active_since_;
  std::optional<SharedSlots> shared_slots_;
  RolloutFacts rollout_;
  Grants grants_;
  std::map<std::string, std::shared_ptr<const NodeView>> views_;
  IncrementalPlanner planner_;
  std::map<std::string, std::pair<UpgradeState, GateReason>> told_;
  std::size_t acting_ = 0;  // number of nodes with actions in the last plan; such nodes are always re-evaluated
  std::shared_ptr<const PublishedPlan> published_;
  Plan published_then_;  // content of the plan when it was published
};

TEST_CASE("arch-A10: after any changes, evaluating only the changed nodes gives the same plan as Step") {
  ForEachSeed([](const RandomCluster& cluster) { return Twin(cluster).Run(); });
}

TEST_CASE("arch-A10: a verdict with nothing to do stays the same until its wake_at") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    SeededRandom random(cluster.seed);
    const StateMachine machine = RandomMachine(cluster, random);
    for (const auto& [name, workloads] : cluster.workloads) {
      const auto view = RandomView(random, machine.identity(), name);
      const auto judge = [&](absl::Time now) {
        return machine.Judge(*view, *cluster.snapshot.driver, cluster.policy, now, cluster.snapshot.active_since,
                             /*admitted=*/false);
      };
      const Verdict verdict = judge(cluster.now);
      if (!verdict.plan.empty()) continue;
      const absl::Time end = verdict.wake_at.value_or(cluster.now + absl::Hours(400));
      if (end <= cluster.now) return name + ": must be evaluated again immediately, with nothing to do";
      for (const absl::Time time : {cluster.now + absl::Milliseconds(1), cluster.now + (end - cluster.now) / 2,
                                    end - absl::Seconds(1), end - absl::Milliseconds(1)}) {
        if (time <= cluster.now || time >= end) continue;
        const Verdict later = judge(time);
        const bool same = later.plan == verdict.plan && later.gate == verdict.gate &&
                          later.candidate == verdict.candidate && later.wake_at == verdict.wake_at &&
                          later.findings == verdict.findings && later.pod_interest == verdict.pod_interest;
        if (!same) return fmt::format("{}: another verdict {} later", name, absl::FormatDuration(time - cluster.now));
      }
    }
    return "";
  });
}

// The queue has callers other than Step, so it must return the same decisions as NaiveAdmit for any candidates.
TEST_CASE("arch-A10: the queue makes the same decisions as NaiveAdmit, whatever nodes are added or removed") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    SeededRandom random(cluster.seed);
    AdmissionQueue queue;
    std::map<std::string, Candidate> waiting;
    std::map<std::string, GateReason> reasons;  // reasons of the nodes that waited before
    for (int round = 0; round < 8; ++round) {
      for (int i = random.Below(12); i > 0; --i) {
        const bool takes = random.Chance(60);
        const std::string name = fmt::format("n{}", random.Below(30));
        const Candidate candidate{.needs_slot = random.Chance(70),
                                  .needs_headroom = takes || random.Chance(20),
                                  .takes_headroom = takes,
                                  .own_node = name == "n3",
                                  .has_grant = random.Chance(20)};
        if (const auto old = waiting.find(name); old != waiting.end()) {
          queue.Remove({.node = name, .candidate = old->second});
        }
        queue.Add({.node = name, .candidate = candidate});
        reasons.erase(name);  // its reason is reported again
        waiting[name] = candidate;
      }
      UpgradeBudget budget{.total = 30, .parallel_used = random.Below(3), .unavailable = random.Below(3)};
      if (random.Chance(85)) budget.parallel_max = random.Below(7);
      if (random.Chance(85)) budget.unavailable_max = random.Below(7);
      if (random.Chance(30)) budget.shared = SharedSlots{.max = random.Below(9), .used_elsewhere = random.Below(4)};
      if (random.Chance(10)) budget.failures_max = budget.failed;
      Budgets budgets{.all = budget, .granted = budget};
      budgets.all.parallel_used += random.Below(3);
      budgets.all.unavailable += random.Below(3);
      const bool paused = random.Chance(10);

      std::vector<WaitingNode> nodes;
      for (const auto& [name, candidate] : waiting) nodes.push_back({.node = name, .candidate = candidate});
      std::vector<std::string> admitted;
      std::map<std::string, Gate> refused;
      for (const AdmissionDecision& decision : NaiveAdmit(Limits::Of(budgets, paused), nodes)) {
        const std::string name(nodes[decision.index].node);
        if (decision.gate) refused[name] = *decision.gate;
        if (!decision.gate) admitted.push_back(name);
      }
      if (queue.Admit(Limits::Of(budgets, paused)) != admitted) return "others are admitted";
      const std::vector<std::string> changed = queue.ChangedRefusals();
      for (const auto& [name, reason] : reasons) {
        const bool differs = refused.contains(name) && refused.at(name).reason != reason;
        if (differs && std::find(changed.begin(), changed.end(), name) == changed.end()) {
          return name + " waits for another reason, and nobody is told";
        }
      }
      reasons.clear();
      for (const auto& [name, gate] : refused) reasons[name] = gate.reason;
      std::vector<WaitingNode> places;
      for (const auto& [name, gate] : refused) places.push_back({.node = name, .candidate = waiting.at(name)});
      std::sort(places.begin(), places.end(), GoesBefore);
      for (std::size_t i = 0; i < places.size(); ++i) {
        const Gate gate = AtPlace(queue.refusals().Of(places[i]), static_cast<int>(i) + 1);
        const std::string name(places[i].node);
        if (gate != refused.at(name)) return "another refusal of " + name;
      }
      for (const std::string& name : admitted) waiting.erase(name);
    }
    return "";
  });
}

}  // namespace
}  // namespace driverupgrade::tests
