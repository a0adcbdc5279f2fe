// Removes the operator in the middle of a rollout, so that the operator releases the nodes that it has started
// (UpgradeEngine::Release).
#include <memory>

#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

class Removals final : public Actor {
 public:
  explicit Removals(World& world) : Actor(world, "removals") {}

 private:
  void Act() override {
    if (left_ == 0 || world_.releasing || world_.Now() < world_.installed_at) return;
    --left_;
    world_.trace.Line("removals: the operator is removed");
    world_.releasing = true;
    world_.on_release();
  }

  int left_ = random_.Between(1, 2);
};

}  // namespace

std::unique_ptr<Actor> MakeRemovals(World& world) { return std::make_unique<Removals>(world); }

}  // namespace driverupgrade::testing::internal
