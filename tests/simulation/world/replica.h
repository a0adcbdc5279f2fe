// One process of the operator: an engine, its controller, and what they stand on. It dies and begins anew.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_REPLICA_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_REPLICA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "simulation/wire/clear_wire.h"
#include "simulation/world/faulty_cluster.h"
#include "simulation/world/mutants.h"
#include "simulation/world/random.h"
#include "simulation/world/tasks.h"
#include "simulation/world/told_reasons.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

// A clock that shows something else than the cluster's, and runs at another rate (F17) until it is set right, which it
// is every `set_every`.
class SkewedClock final : public Clock {
 public:
  SkewedClock(std::shared_ptr<FakeClock> base, absl::Duration offset, int rate_percent, absl::Duration set_every)
      : base_(std::move(base)),
        begin_(base_->Now()),
        offset_(offset),
        rate_percent_(rate_percent),
        set_every_(set_every) {}
  absl::Time Now() const override {
    const absl::Time base = base_->Now();
    return base + offset_ + Drift(base);
  }
  // Nobody waits in a simulation.
  bool SleepFor(absl::Duration, std::stop_token) override { return true; }
  // When to look at this clock again for a time that it is to show: then, or when it is set right before.
  absl::Time ToBase(absl::Time local) const;
  void Jump(absl::Duration by) { offset_ += by; }

 private:
  absl::Time PeriodOf(absl::Time base) const;
  absl::Duration Drift(absl::Time base) const {
    if (rate_percent_ == 100) return absl::ZeroDuration();
    return (base - PeriodOf(base)) * (rate_percent_ - 100) / 100;
  }

  const std::shared_ptr<FakeClock> base_;
  const absl::Time begin_;
  absl::Duration offset_;
  const int rate_percent_;
  const absl::Duration set_every_;
};

class Replica {
 public:
  Replica(World& world, const Driver& driver, LateRequests& late, int number);
  ~Replica();

  absl::Time due() const;
  // Whether it is in the midst of something: time goes on, and others are at work, its own calls in flight among them.
  bool busy() const { return busy_ && !AnyTask(); }
  void Step();
  // The driver's policy has changed.
  void OnPolicy();
  // The cluster has changed: a cache will hear of it.
  void OnChange();
  // At once, whatever was due. Faults that it has met may be felt for a while, in which it is not asked what it says.
  void Wake();
  // With Mode::kClockSetBack.
  void SetClockBack();
  // Ends in good order.
  void Stop();

  const Driver& driver() const { return driver_; }
  absl::Time LocalTime() const { return clock_->Now(); }
  const UpgradeEngine* engine() const { return process_ ? process_->engine.get() : nullptr; }
  const UpgradeController* controller() const { return process_ ? process_->controller.get() : nullptr; }

 private:
  // What is lost in a crash.
  struct Process {
    std::shared_ptr<InvariantChecker::GuardedCluster> guarded = {};
    std::shared_ptr<FaultyCluster> cluster = {};
    // Null: it does not go through bytes.
    std::unique_ptr<ClearWire> wire = {};
    // The same, through bytes where the seed has drawn that.
    std::shared_ptr<ClusterFacade> honest = {};
    // Null: it has one call in flight.
    std::shared_ptr<Tasks> tasks = {};
    // The cluster as the engine uses it: another one if a defect is planted.
    std::shared_ptr<ClusterFacade> facade = {};
    std::shared_ptr<WatchCache> cache = {};
    std::shared_ptr<LeaderElection> election = {};
    std::unique_ptr<UpgradeEngine> engine = {};
    std::unique_ptr<UpgradeController> controller = {};
    // Of the C interface, in the place of these two.
    std::unique_ptr<HostedEngine> host = {};
    // No pass may follow.
    bool releases = false;
  };
  void Begin();
  void BeginHost(const std::string& name);
  void End();
  bool AnyTask() const { return process_ && process_->tasks && process_->tasks->AnyDue(); }
  // Some have begun, and are on the stack.
  bool HasCallsInFlight() const { return process_ && process_->tasks && process_->tasks->running(); }
  bool IsRemoved() const { return of_operator_ && world_.releasing; }
  void Sleep(absl::Time until);
  void RunTask();
  void BuryTheDead();
  void MakePass();
  // The operator is being removed: all replicas end, and the last gives the nodes back.
  void MakeWay();
  void GiveBack();
  // Whether anything was left to give back.
  absl::StatusOr<bool> Release();
  WireSeam MakeSeam();
  std::shared_ptr<ClusterFacade> MakeWire();
  void MakeElection(const std::string& name);
  EngineOptions MakeEngineOptions();
  // What this replica takes the policy for: another one if a defect is planted.
  UpgradePolicy Believed(UpgradePolicy policy) const;
  absl::Time Turn();
  absl::Time HostedTurn();
  // L5, L6: what it says, if it knows all there is, now and then.
  void CheckWhatItSays();
  void Judge(const Plan& plan);
  void JudgePodsRead(const Plan& plan);

  World& world_;
  const Driver driver_;
  const bool of_operator_;
  const Mutant* const mutant_;
  LateRequests& late_;
  const int number_;
  Random random_;
  Random hook_random_;
  Random wire_random_;
  std::shared_ptr<SkewedClock> clock_;
  std::shared_ptr<Observer> observer_;
  std::unique_ptr<Process> process_;
  int incarnation_ = 0;
  bool busy_ = false;
  absl::Time due_;
  absl::Time turn_due_ = absl::InfiniteFuture();
  absl::Time trouble_until_ = absl::InfinitePast();
  absl::Duration turn_pause_ = absl::Seconds(1);
  absl::Time next_check_ = absl::InfinitePast();
  UpgradePolicy pass_policy_ = {};  // current pass
  bool plan_finished_ = false;      // the last one
  ToldReasons told_;                // by the plans of the process
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_REPLICA_H_
