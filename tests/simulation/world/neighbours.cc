// Other clients of the cluster, as they are found next to an operator in real clusters.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr char kCordonClaim[] = "example.com/cordon-claim";

// NVIDIA's operators while they do not upgrade: each reconcile removes the state label from every node, and each change of
// a node starts another one. In half of the seeds the client acts occasionally.
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

// It cordons nodes that are schedulable, says so on them, and lifts a cordon only if it made it and no upgrade relies on
// it.
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
    world_.cluster->EditNode(node->name, [](Node& edited) {
      edited.unschedulable = true;
      edited.annotations[kCordonClaim] = "example.com/repair";
    });
  }

  void Lift(const Node& node) {
    if (!node.annotations.contains(kCordonClaim)) return;
    const bool relied_on = node.annotations.contains(std::string(kCordonedByAnnotation));
    world_.trace.Line("foreign cordons: the claim on {} is removed", node.name);
    world_.cluster->EditNode(node.name, [&](Node& edited) {
      edited.annotations.erase(kCordonClaim);
      if (!relied_on) edited.unschedulable = false;
    });
  }
};

// Nodes that become NotReady, and Ready again, while they wait, in the middle of their upgrade, and after it.
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

  // Returns a node in that state; any node if no node is in it.
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

}  // namespace

std::unique_ptr<Actor> MakeLabelRemover(World& world) { return std::make_unique<LabelRemover>(world); }
std::unique_ptr<Actor> MakeForeignCordons(World& world) { return std::make_unique<ForeignCordons>(world); }
std::unique_ptr<Actor> MakeNotReady(World& world) { return std::make_unique<NotReady>(world); }

}  // namespace driverupgrade::testing::internal
