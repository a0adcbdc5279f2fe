// One process of the operator: an engine, its controller, and the layers below them. The process can crash and restart.
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

// A clock with an offset from the cluster's clock and a different rate (F17). The drift is corrected every `set_every`.
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
  // Returns immediately, because a simulation never sleeps.
  bool SleepFor(absl::Duration, std::stop_token) override { return true; }
  // Returns the base time at which to check whether this clock shows `local`: either the time when it shows `local`, or
  // the next correction, whichever comes first.
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
  // Returns whether a step is in progress. Other actors and the replica's own calls in flight run during a step.
  bool busy() const { return busy_ && !AnyTask(); }
  void Step();
  // Called after the driver's policy has changed.
  void OnPolicy();
  // Called after the cluster has changed. A replica with a cache plans the arrival of the event.
  void OnChange();
  // Makes the next step due immediately. While earlier faults still have effects, the replica's reports are not
  // checked.
  void Wake();
  // Applies Mode::kClockSetBack.
  void SetClockBack();
  // Shuts down cleanly.
  void Stop();

  const Driver& driver() const { return driver_; }
  absl::Time LocalTime() const { return clock_->Now(); }
  const UpgradeEngine* engine() const { return process_ ? process_->engine.get() : nullptr; }
  const UpgradeController* controller() const { return process_ ? process_->controller.get() : nullptr; }

 private:
  // The state that a crash destroys.
  struct Process {
    std::shared_ptr<InvariantChecker::GuardedCluster> guarded = {};
    std::shared_ptr<FaultyCluster> cluster = {};
    // Null if the replica does not send its requests as bytes.
    std::unique_ptr<ClearWire> wire = {};
    // The cluster without planted defects. If the seed uses bytes, calls pass through the wire.
    std::shared_ptr<ClusterFacade> honest = {};
    // Null if the replica has at most one call in flight.
    std::shared_ptr<Tasks> tasks = {};
    // The facade that the engine uses, including any planted defect.
    std::shared_ptr<ClusterFacade> facade = {};
    std::shared_ptr<WatchCache> cache = {};
    std::shared_ptr<LeaderElection> election = {};
    std::unique_ptr<UpgradeEngine> engine = {};
    std::unique_ptr<UpgradeController> controller = {};
    // The host of the C interface, which replaces the engine and the controller.
    std::unique_ptr<HostedEngine> host = {};
    // True once the process releases its nodes; no further pass may follow.
    bool releases = false;
  };
  void Begin();
  void BeginHost(const std::string& name);
  void End();
  bool AnyTask() const { return process_ && process_->tasks && process_->tasks->AnyDue(); }
  // Returns whether started calls are on the stack.
  bool HasCallsInFlight() const { return process_ && process_->tasks && process_->tasks->running(); }
  bool IsRemoved() const { return of_operator_ && world_.releasing; }
  void Sleep(absl::Time until);
  void RunTask();
  void BuryTheDead();
  void MakePass();
  // Removes the operator: the other replicas stop, and the last replica releases the nodes.
  void MakeWay();
  void GiveBack();
  // Continues to release the nodes. Returns false if nothing is left to release.
  absl::StatusOr<bool> Release();
  WireSeam MakeSeam();
  std::shared_ptr<ClusterFacade> MakeWire();
  void MakeElection(const std::string& name);
  EngineOptions MakeEngineOptions();
  // Returns the policy that this replica uses, including any change by a planted defect.
  UpgradePolicy Believed(UpgradePolicy policy) const;
  absl::Time Turn();
  absl::Time HostedTurn();
  // L5, L6: occasionally checks the reports of a replica that has read all changes.
  void CheckWhatItSays();
  void Judge(const Plan& plan);
  void JudgePodsRead(const Plan& plan);
  bool IsIsolated(const std::string& name) const;

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
  UpgradePolicy pass_policy_ = {};  // policy of the current pass
  bool plan_finished_ = false;      // whether the last plan was complete
  ToldReasons told_;                // reasons in the plans of the current process
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_REPLICA_H_
