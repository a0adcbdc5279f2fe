// The actors of a simulation: all clients and components other than the replicas. Each actor has its own random stream.
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
  // Acts once and schedules the next action.
  void Turn() {
    Act();
    Rest();
  }
  // Returns whether the actor continues to act after the faults have ended.
  virtual bool acts_when_calm() const { return false; }
  // Called for each change while the cluster is locked, so the function must not call the cluster.
  virtual void See(const Change&) {}
  // Undoes every action of this actor that could keep a node from completing its upgrade.
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

// Changes cordons, labels, annotations and policies (F22, F25).
std::unique_ptr<Actor> MakeAdministrator(World& world);
// Adds, deletes and disturbs nodes (F18).
std::unique_ptr<Actor> MakeNodeLifecycle(World& world);
// Stops the API server for two hours (F26).
std::unique_ptr<Actor> MakeLongOutage(World& world);
// Disturbs pods (F19) and drivers (F20).
std::unique_ptr<Actor> MakePodTroubles(World& world);
// Changes the template: once to start the rollout, and again during it (F21).
std::unique_ptr<Actor> MakeTemplates(World& world);
// Creates another driver's operator, built with the Go library (F23). This operator needs two writes per step, and does
// not mark its cordon.
std::unique_ptr<Actor> MakeRival(World& world);

// Changes the template of the second driver.
std::unique_ptr<Actor> MakePeerTemplates(World& world);
// Approves stages, makes nodes unhealthy, and removes the rollout's record.
std::unique_ptr<Actor> MakeRollouts(World& world);
// Creates jobs whose pods run only together.
std::unique_ptr<Actor> MakeGangs(World& world);
// Creates devices, the plugins that publish them, and pods that claim them.
std::unique_ptr<Actor> MakeDevices(World& world);
// Removes the operator once or twice.
std::unique_ptr<Actor> MakeRemovals(World& world);

// Neighbors, each in its own Mode; see Mode::kLabelRemover and the modes after it.
std::unique_ptr<Actor> MakeLabelRemover(World& world);
std::unique_ptr<Actor> MakeForeignCordons(World& world);
std::unique_ptr<Actor> MakeNotReady(World& world);
std::unique_ptr<Actor> MakeAutoscaler(World& world);
std::unique_ptr<Actor> MakeNoRoom(World& world);

// Simulates the maintenance operator, another requestor, and users who change NodeMaintenances (F28).
std::unique_ptr<Actor> MakeMaintenances(World& world);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_ACTORS_H_
