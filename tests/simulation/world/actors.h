// Everybody but the replicas who does something in a simulation. Each has a random stream of its own.
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
  // One deed.
  void Turn() {
    Act();
    Rest();
  }
  // Whether it acts after the faults, too.
  virtual bool acts_when_calm() const { return false; }
  // Called for each change. The cluster is locked: it must not be used here.
  virtual void See(const Change&) {}
  // Puts right what this actor did, as far as nodes could never get done with it.
  virtual void Mend() {}

 protected:
  virtual void Act() = 0;
  void Rest() { due_ = world_.Now() + Pause(); }
  // Time until the next deed.
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
// F21, and the template change that starts it all.
std::unique_ptr<Actor> MakeTemplates(World& world);
// F23: another driver's operator, as the Go library makes one: two writes a step, and no marks on the cordon.
std::unique_ptr<Actor> MakeRival(World& world);

// The second driver's.
std::unique_ptr<Actor> MakePeerTemplates(World& world);
// Approves stages, and makes nodes sick; and whoever reads the rollout's record finds it gone.
std::unique_ptr<Actor> MakeRollouts(World& world);
// Jobs whose pods only run together.
std::unique_ptr<Actor> MakeGangs(World& world);
// Removes the operator, once or twice.
std::unique_ptr<Actor> MakeRemovals(World& world);

// Neighbours, each with a Mode of its own: see Mode::kLabelRemover and those after it.
std::unique_ptr<Actor> MakeLabelRemover(World& world);
std::unique_ptr<Actor> MakeForeignCordons(World& world);
std::unique_ptr<Actor> MakeNotReady(World& world);
std::unique_ptr<Actor> MakeAutoscaler(World& world);
std::unique_ptr<Actor> MakeNoRoom(World& world);

// F28: the maintenance operator, another requestor, and people who meddle with NodeMaintenances.
std::unique_ptr<Actor> MakeMaintenances(World& world);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_ACTORS_H_
