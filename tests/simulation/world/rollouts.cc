// Disturbs a rollout (Mode::kRollouts): approves stages, makes nodes unhealthy, makes drivers fail, makes selected
// pods unready, removes the record, and moves nodes to other racks.
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "driverupgrade/rollout_policy.h"
#include "fmt/format.h"
#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

class Rollouts final : public Actor {
 public:
  explicit Rollouts(World& world) : Actor(world, "rollouts"), changes_(world.seed, "changed rollouts") {}

  // Makes all nodes healthy, makes drivers and the selected pods ready, restores stages that select no node, and moves
  // nodes back to their racks.
  void Mend() override {
    for (const Node& node : world_.cluster->nodes()) {
      if (node.conditions.contains(kSickCondition)) SetSick(node.name, false);
    }
    for (int i = 0; i < world_.setup.nodes; ++i) {
      if (const std::string name = world_.NodeName(i); !world_.cluster->node(name)) world_.AddNode(name);
    }
    for (const Node& node : world_.cluster->nodes()) SetChosenPods(node.name, true);
    for (const std::string& node : moved_) Move(node, world_.RackOf(node));
    MendDrivers();
    if (!std::exchange(mistyped_, false)) return;
    UpgradePolicy policy = world_.policy;
    policy.rollout->stages = world_.setup.policy.rollout->stages;
    world_.SetPolicy(std::move(policy));
  }

 private:
  void Act() override {
    world_.CameBy(Mode::kRollouts);
    const std::string node = world_.AnyNode(random_);
    if (failures_.Percent(15)) return FailDriver();
    if (changes_.Percent(10)) return ChangePolicy();
    if (ChoosesPods() && random_.Percent(25)) return SetChosenPods(node, random_.Percent(50));
    switch (random_.Below(8)) {
      case 0:
      case 1:
      case 2: return Approve();
      case 3: return TakeApprovals();
      case 4:
        if (random_.Percent(70)) return MoveAny(node);
        world_.trace.Line("rollouts: the record is removed");
        world_.cluster->RemoveConfigMap(kDriverNs, "driver-upgrades");
        return;
      case 5:
        if (!node.empty()) SetSick(node, true);
        return;
      default:
        if (!node.empty()) SetSick(node, false);
    }
  }

  // Changes the order (which keeps a halt), a soak (which lifts a halt) or the stages (which restarts the rollout), or
  // restores the original policy. In a third of the worlds, a changed stage selects no node.
  void ChangePolicy() {
    UpgradePolicy policy = world_.policy;
    RolloutPolicy& rollout = *policy.rollout;
    const int what = changes_.Below(4);
    world_.trace.Line("rollouts: the policy changes: {}", what);
    if (what == 0) {
      rollout = *world_.setup.policy.rollout;
    } else if (what == 1) {
      rollout.order = {{.by = OrderBy::kLabel, .label = "rack"}};
    } else if (!rollout.stages.empty() && what == 2) {
      rollout.stages.front().soak = absl::Seconds(changes_.Pick({0, 10, 90}));
    } else if (!rollout.stages.empty() && world_.seed % 3 == 0) {
      rollout.stages.front().nodes = *LabelSelector::Parse("rack=mistyped");
      mistyped_ = true;
    } else if (!rollout.stages.empty()) {
      rollout.stages.pop_back();
    }
    world_.SetPolicy(std::move(policy));
  }

  void FailDriver() {
    if (failures_.Percent(20)) {
      world_.cluster->ClearCrashRules(kDriverNs, kDriver);
      return;
    }
    const std::string name = world_.AnyNode(failures_);
    world_.trace.Line("rollouts: the driver of {} is to crash", name);
    if (!name.empty()) world_.cluster->AddCrashRule(kDriverNs, kDriver, world_.hash, name);
    FailNewDriver();
  }

  // Gives the new driver pod of a waiting node so many restarts that the node fails immediately.
  void FailNewDriver() {
    for (const Node& node : world_.cluster->nodes()) {
      const auto state = node.labels.find(world_.identity.StateLabel());
      if (state == node.labels.end() || state->second != "pod-restart-required" || failures_.Percent(40)) continue;
      for (const Pod& pod : world_.cluster->pods_on(node.name)) {
        if (pod.ref.ns != kDriverNs || !world_.driver_labels.Matches(pod.labels)) continue;
        if (RevisionHash(pod) != world_.hash || pod.container_statuses.empty()) continue;
        world_.trace.Line("rollouts: the driver of {} keeps restarting", node.name);
        world_.cluster->EditPod(pod.ref.ns, pod.ref.name, [](Pod& edited) {
          edited.container_statuses.front().ready = false;
          edited.container_statuses.front().restart_count = 11;
        });
        return;
      }
    }
  }

  void MendDrivers() {
    world_.cluster->ClearCrashRules(kDriverNs, kDriver);
    for (const Pod& pod : world_.cluster->daemon_set_pods(kDriverNs, kDriver)) {
      if (pod.phase == PodPhase::kRunning) world_.cluster->SetPodReady(pod.ref.ns, pod.ref.name, true);
    }
  }

  void MoveAny(const std::string& node) {
    if (node.empty() || moves_.Percent(60)) return;
    moved_.insert(node);
    Move(node, moves_.Percent(15) ? "" : std::to_string(moves_.Below(kRacks)));
  }

  void Move(const std::string& node, const std::string& rack) {
    world_.trace.Line("rollouts: {} is moved to rack {}", node, rack);
    world_.cluster->EditNode(node, [&](Node& edited) {
      edited.labels["rack"] = rack;
      if (rack.empty()) edited.labels.erase("rack");
    });
  }

  void SetSick(const std::string& node, bool sick) {
    world_.trace.Line("rollouts: {} is {}", node, sick ? "sick" : "well");
    world_.cluster->EditNode(node, [&](Node& edited) {
      if (sick) {
        edited.conditions[kSickCondition] = "True";
      } else {
        edited.conditions.erase(kSickCondition);
      }
    });
  }

  bool ChoosesPods() const {
    const auto& health = world_.setup.policy.rollout->health;
    return health && health->pod_selector;
  }

  void SetChosenPods(const std::string& node, bool ready) {
    if (!ChoosesPods()) return;
    for (const Pod& pod : world_.cluster->pods_on(node)) {
      if (!world_.setup.policy.rollout->health->pod_selector->Matches(pod.labels) || IsReady(pod) == ready) continue;
      world_.trace.Line("rollouts: pod {} is {}", pod.ref.name, ready ? "ready" : "not ready");
      world_.cluster->SetPodReady(pod.ref.ns, pod.ref.name, ready);
    }
  }

  // Approves a random stage. The new approval either replaces all earlier approvals or is added to them.
  void Approve() {
    const std::vector<RolloutStage>& stages = world_.setup.policy.rollout->stages;
    const auto number = static_cast<std::size_t>(random_.Below(static_cast<int>(stages.size()) + 1));
    const std::string name = number < stages.size() ? stages[number].name : std::string(kLastStage);
    const std::string approval = fmt::format("{}@{}", name, world_.hash);
    world_.trace.Line("rollouts: {} is approved", approval);
    EditApprovals([&](std::string& text) { text = random_.Percent(50) ? approval : text + "," + approval; });
  }

  void TakeApprovals() {
    world_.trace.Line("rollouts: approvals are taken back");
    EditApprovals([](std::string& text) { text.clear(); });
  }

  void EditApprovals(const std::function<void(std::string&)>& edit) {
    world_.cluster->EditDaemonSet(kDriverNs, kDriver, [&](DaemonSet& daemon_set) {
      edit(daemon_set.annotations[world_.identity.ApprovedAnnotation()]);
    });
  }

  Random changes_;
  Random failures_{world_.seed, "drivers that fail"};
  // Separate stream, so that its draws do not change the rest of the seed.
  Random moves_{world_.seed, "nodes that are moved"};
  std::set<std::string> moved_;
  bool mistyped_ = false;
};

}  // namespace

std::unique_ptr<Actor> MakeRollouts(World& world) { return std::make_unique<Rollouts>(world); }

}  // namespace driverupgrade::testing::internal
