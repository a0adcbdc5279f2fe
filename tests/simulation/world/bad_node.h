// L4: a node on which the upgrade never gets done, in one of several ways, among others that are well.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_BAD_NODE_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_BAD_NODE_H_

#include <optional>
#include <string>
#include <utility>

#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

class BadNode {
 public:
  // For one seed in ten, if there are nodes enough.
  static std::optional<BadNode> Draw(World& world);

  const std::string& name() const { return name_; }
  // The others are to be upgraded without it, with one slot less.
  void LeaveOut() const;
  // It is among them again, with its slot, and goes bad.
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
