// Other clients that run alongside an operator in real clusters.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr char kCordonClaim[] = "example.com/cordon-claim";
constexpr char kMachineConfigState[] = "machineconfiguration.openshift.io/state";

// Simulates NVIDIA's operators while their own driver upgrades are switched off: each reconcile removes the state label
// from every node, and each change to a node starts another reconcile. In half of the seeds, this client acts only
// occasionally.
class LabelRemover final : public Actor {
 public:
  explicit LabelRemover(World& world) : Actor(world, "label remover"), immediate_(random_.Percent(50)) {}

 private:
  absl::Duration Pause() override {
    return immediate_ ? random_.Between(absl::Milliseconds(100), absl::Seconds(2)) : Actor::Pause();
  }

  void Act() override {
    const std::string label = world_.identity.StateLabel();
    for (const Node& node : world_.cluster->nodes()) {
      if (!node.labels.contains(label)) continue;
      world_.trace.Line("label remover: {}", node.name);
      world_.CameBy(Mode::kLabelRemover);
      world_.cluster->EditNode(node.name, [&](Node& edited) { edited.labels.erase(label); });
    }
  }

  const bool immediate_;
};

// A client that cordons schedulable nodes and marks them as its own. It lifts only its own cordons, and only while no
// upgrade relies on them. In half of the seeds it imitates OpenShift's Machine Config Operator, which marks the nodes
// on which it works.
class ForeignCordons final : public Actor {
 public:
  explicit ForeignCordons(World& world) : Actor(world, "foreign cordons") {}

  void Mend() override {
    for (const Node& node : world_.cluster->nodes()) Lift(node);
  }

 private:
  void Act() override {
    const std::optional<Node> node = world_.cluster->node(world_.AnyNode(random_));
    if (!node) return;
    if (node->annotations.contains(kCordonClaim)) return Lift(*node);
    if (node->unschedulable) return;
    world_.trace.Line("foreign cordons: {} is cordoned", node->name);
    world_.CameBy(Mode::kForeignCordons);
    world_.cluster->EditNode(node->name, [&](Node& edited) {
      edited.unschedulable = true;
      edited.annotations[kCordonClaim] = "example.com/repair";
      if (random_.Percent(50)) edited.annotations[kMachineConfigState] = "Working";
    });
  }

  void Lift(const Node& node) {
    if (!node.annotations.contains(kCordonClaim)) return;
    const bool relied_on = node.annotations.contains(std::string(kCordonedByAnnotation));
    world_.trace.Line("foreign cordons: the claim on {} is removed", node.name);
    world_.cluster->EditNode(node.name, [&](Node& edited) {
      edited.annotations.erase(kCordonClaim);
      if (edited.annotations.contains(kMachineConfigState)) edited.annotations[kMachineConfigState] = "Done";
      if (!relied_on) edited.unschedulable = false;
    });
  }
};

// Makes nodes NotReady and then Ready again: while they wait, during their upgrade, and after their upgrade.
class NotReady final : public Actor {
 public:
  explicit NotReady(World& world) : Actor(world, "not ready") {}

  void Mend() override {
    for (const std::string& node : away_) world_.cluster->SetNodeReady(node, true);
    away_.clear();
  }

 private:
  void Act() override {
    if (!away_.empty() && random_.Percent(60)) return Return();
    const std::string node = Choose(random_.Pick({UpgradeState::kUpgradeRequired, UpgradeState::kPodRestartRequired,
                                                  UpgradeState::kDrainRequired, UpgradeState::kDone}));
    if (node.empty() || away_.contains(node)) return;
    world_.trace.Line("not ready: {} is lost", node);
    world_.CameBy(Mode::kNotReady);
    away_.insert(node);
    world_.cluster->SetNodeReady(node, false);
  }

  void Return() {
    std::vector<std::string> nodes(away_.begin(), away_.end());
    const std::string node = random_.Pick(nodes);
    world_.trace.Line("not ready: {} is back", node);
    away_.erase(node);
    world_.cluster->SetNodeReady(node, true);
  }

  // Returns a node in this state, or any node if no node is in this state.
  std::string Choose(UpgradeState state) {
    std::vector<std::string> found;
    for (const Node& node : world_.cluster->nodes()) {
      const auto label = node.labels.find(world_.identity.StateLabel());
      if (label != node.labels.end() && label->second == ToLabelValue(state)) found.push_back(node.name);
    }
    return found.empty() ? world_.AnyNode(random_) : random_.Pick(found);
  }

  std::set<std::string> away_;
};

// A node autoscaler that taints nodes, and later either deletes a tainted node or removes its taint. New nodes replace
// the deleted nodes.
class Autoscaler final : public Actor {
 public:
  explicit Autoscaler(World& world) : Actor(world, "autoscaler") {}

  void Mend() override {
    for (const std::string& node : leaving_) Untaint(node);
    leaving_.clear();
  }

 private:
  void Act() override {
    if (!leaving_.empty() && random_.Percent(60)) return Decide();
    const std::string node = world_.AnyNode(random_);
    if (node.empty() || !leaving_.insert(node).second) return;
    world_.trace.Line("autoscaler: {} is to go", node);
    world_.CameBy(Mode::kAutoscaler);
    // The driver's DaemonSet does not tolerate the last taint, which does not show that the node leaves.
    const std::string taint = random_.Percent(50)   ? "ToBeDeletedByClusterAutoscaler"
                              : random_.Percent(50) ? "karpenter.sh/disrupted"
                                                    : "example.com/maintenance";
    world_.cluster->EditNode(node,
                             [&](Node& edited) { edited.taints.push_back({.key = taint, .effect = "NoSchedule"}); });
  }

  void Decide() {
    const std::vector<std::string> nodes(leaving_.begin(), leaving_.end());
    const std::string node = random_.Pick(nodes);
    leaving_.erase(node);
    if (random_.Percent(30) || world_.cluster->nodes().size() < 2) return Untaint(node);
    world_.trace.Line("autoscaler: {} is deleted", node);
    world_.cluster->RemoveNode(node);
    if (random_.Percent(70) && world_.nodes_made < 2 * world_.setup.nodes) {
      world_.AddNode(world_.NodeName(world_.nodes_made++));
    }
  }

  void Untaint(const std::string& node) {
    world_.cluster->EditNode(node, [](Node& edited) {
      std::erase_if(edited.taints, [](const Taint& taint) { return taint.effect == "NoSchedule"; });
    });
  }

  std::set<std::string> leaving_;
};

// Creates pods that take a driver pod's capacity while the driver pod is replaced.
class NoRoom final : public Actor {
 public:
  explicit NoRoom(World& world) : Actor(world, "no room") {}

  void Mend() override {
    for (const std::string& node : full_) world_.cluster->SetNodeFull(node, "");
    full_.clear();
  }

 private:
  void Act() override {
    if (!full_.empty() && random_.Percent(50)) {
      const std::vector<std::string> nodes(full_.begin(), full_.end());
      const std::string node = random_.Pick(nodes);
      world_.trace.Line("no room: {} has room again", node);
      full_.erase(node);
      world_.cluster->SetNodeFull(node, "");
      return;
    }
    const std::string node = world_.AnyNode(random_);
    if (!world_.cluster->SetNodeFull(node, "0/1 nodes are available: 1 Insufficient memory.")) return;
    world_.trace.Line("no room: {} is full", node);
    world_.CameBy(Mode::kNoRoom);
    full_.insert(node);
  }

  std::set<std::string> full_;
};

}  // namespace

std::unique_ptr<Actor> MakeLabelRemover(World& world) { return std::make_unique<LabelRemover>(world); }
std::unique_ptr<Actor> MakeForeignCordons(World& world) { return std::make_unique<ForeignCordons>(world); }
std::unique_ptr<Actor> MakeNotReady(World& world) { return std::make_unique<NotReady>(world); }
std::unique_ptr<Actor> MakeAutoscaler(World& world) { return std::make_unique<Autoscaler>(world); }
std::unique_ptr<Actor> MakeNoRoom(World& world) { return std::make_unique<NoRoom>(world); }

}  // namespace driverupgrade::testing::internal
