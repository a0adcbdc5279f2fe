// The actors of a simulation: all parties besides the replicas. Each has its own random stream.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_ACTORS_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_ACTORS_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "simulation/world/random.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

class Actor {
 public:
  Actor(World& world, std::string_view name) : world_(world), random_(world.seed, name) { Rest(); }
  virtual ~Actor() = default;

  absl::Time due() const { return due_; }
  // Acts once, and schedules the next action.
  void Turn() {
    Act();
    Rest();
  }
  // Returns whether it also acts after the faults have ended.
  virtual bool acts_when_calm() const { return false; }
  // Called for each change. The cluster is locked: it must not be used here.
  virtual void See(const Change&) {}
  // Undoes the actions of this actor that could keep nodes from ever being done.
  virtual void Mend() {}

 protected:
  virtual void Act() = 0;
  void Rest() { due_ = world_.Now() + Pause(); }
  // Returns the time until the next action.
  virtual absl::Duration Pause() { return random_.Between(world_.setup.pause_min, world_.setup.pause_max); }

  World& world_;
  Random random_;
  absl::Time due_ = absl::InfiniteFuture();
};

// F22, F25: cordons, labels, annotations, policies.
std::unique_ptr<Actor> MakeAdministrator(World& world);
// F18.
std::unique_ptr<Actor> MakeNodeLifecycle(World& world);
// F26, for two hours.
std::unique_ptr<Actor> MakeLongOutage(World& world);
// F19, F20.
std::unique_ptr<Actor> MakePodTroubles(World& world);
// F21, and the template change that starts the rollout.
std::unique_ptr<Actor> MakeTemplates(World& world);
// F23: another driver's operator, built with the Go library: two writes per step, and no mark on its cordon.
std::unique_ptr<Actor> MakeRival(World& world);

// Templates of the second driver.
std::unique_ptr<Actor> MakePeerTemplates(World& world);
// Approves stages, makes nodes sick, and removes the rollout's record.
std::unique_ptr<Actor> MakeRollouts(World& world);
// Jobs whose pods only run together.
std::unique_ptr<Actor> MakeGangs(World& world);
// Devices, the plugins that publish them, and pods that claim them.
std::unique_ptr<Actor> MakeDevices(World& world);
// Removes the operator, once or twice.
std::unique_ptr<Actor> MakeRemovals(World& world);

// Neighbours, each with its own Mode: see Mode::kLabelRemover and the modes after it.
std::unique_ptr<Actor> MakeLabelRemover(World& world);
std::unique_ptr<Actor> MakeForeignCordons(World& world);
std::unique_ptr<Actor> MakeNotReady(World& world);
std::unique_ptr<Actor> MakeAutoscaler(World& world);
std::unique_ptr<Actor> MakeNoRoom(World& world);

// F28: the maintenance operator, another requestor, and users who meddle with NodeMaintenances.
std::unique_ptr<Actor> MakeMaintenances(World& world);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_ACTORS_H_
