// Another driver's operator on the same nodes, built with the Go library (F23). It writes labels and annotations in two
// requests and does not mark its cordons. It treats any existing cordon as an administrator's.
#include <map>
#include <utility>

#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

class Rival final : public Actor {
 public:
  explicit Rival(World& world) : Actor(world, "rival") {}

  // Completes the upgrades that the rival has started.
  void Mend() override {
    while (!at_work_.empty()) {
      const std::string node = at_work_.begin()->first;
      while (at_work_.contains(node)) Advance(node);
    }
  }

 private:
  void Act() override {
    if (!world_.May(Fault::kRival)) return;
    if (at_work_.size() < 3 && random_.Percent(40)) {
      const std::string node = world_.AnyNode(random_);
      if (!node.empty() && !at_work_.contains(node)) {
        at_work_[node] = UpgradeState::kUnknown;
        Advance(node);
        world_.Fired(Fault::kRival);
      }
    }
    if (at_work_.empty()) return;
    auto any = at_work_.begin();
    std::advance(any, random_.Below(static_cast<int>(at_work_.size())));
    Advance(std::string(any->first));
  }

  void Edit(const std::string& node, const std::function<void(Node&)>& edit) {
    world_.SetRivalActs(true);
    if (!world_.cluster->EditNode(node, edit)) at_work_.erase(node);
    world_.SetRivalActs(false);
  }

  void Enter(const std::string& node, UpgradeState state) {
    at_work_[node] = state;
    Edit(node, [&](Node& n) { n.labels[world_.other_identity.StateLabel()] = std::string(ToLabelValue(state)); });
    world_.trace.Line("rival: {} is {}", node, ToString(state));
  }

  void Advance(const std::string& node) {
    const std::string initial = world_.other_identity.InitiallyUnschedulableAnnotation();
    const std::optional<Node> now = world_.cluster->node(node);
    if (!now) {
      at_work_.erase(node);
      return;
    }
    switch (at_work_[node]) {
      case UpgradeState::kUnknown:
        if (now->unschedulable) Edit(node, [&](Node& n) { n.annotations[initial] = "true"; });
        return Enter(node, UpgradeState::kUpgradeRequired);
      case UpgradeState::kUpgradeRequired: return Enter(node, UpgradeState::kCordonRequired);
      case UpgradeState::kCordonRequired:
        Edit(node, [](Node& n) { n.unschedulable = true; });
        return Enter(node, UpgradeState::kDrainRequired);
      case UpgradeState::kDrainRequired: return Enter(node, UpgradeState::kPodRestartRequired);
      case UpgradeState::kPodRestartRequired:
        if (!now->annotations.contains(initial)) return Enter(node, UpgradeState::kUncordonRequired);
        Edit(node, [&](Node& n) { n.annotations.erase(initial); });
        break;
      default: Edit(node, [](Node& n) { n.unschedulable = false; });
    }
    Enter(node, UpgradeState::kDone);
    at_work_.erase(node);
  }

  std::map<std::string, UpgradeState> at_work_;
};

}  // namespace

std::unique_ptr<Actor> MakeRival(World& world) { return std::make_unique<Rival>(world); }

}  // namespace driverupgrade::testing::internal
