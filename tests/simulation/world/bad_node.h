// L4: a node whose upgrade never completes, for one of several reasons, among healthy nodes.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_BAD_NODE_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_BAD_NODE_H_

#include <optional>
#include <string>
#include <utility>

#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

class BadNode {
 public:
  // Draws a bad node for one seed in ten, if the seed has enough nodes.
  static std::optional<BadNode> Draw(World& world);

  const std::string& name() const { return name_; }
  // Excludes the node. The other nodes must be upgraded without it, with one slot fewer.
  void LeaveOut() const;
  // Includes the node again, with its slot, and makes it bad.
  void MakeBad() const;

 private:
  BadNode(World& world, std::string name, int parallel, bool unavailable, int way)
      : world_(world), name_(std::move(name)), parallel_(parallel), unavailable_(unavailable), way_(way) {}
  void SetSlots(int slots) const;

  World& world_;
  std::string name_;
  int parallel_;
  bool unavailable_;
  int way_;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_BAD_NODE_H_
