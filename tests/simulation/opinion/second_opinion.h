// A second opinion on what an engine is about to do: each plan of a node is held against docs/state-machine.md, with
// the node, its pods and its driver as they are at the server.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_OPINION_SECOND_OPINION_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_OPINION_SECOND_OPINION_H_

#include <optional>
#include <string>

#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "simulation/opinion/scene.h"

namespace driverupgrade::testing::internal {

// How long the engine has worked without a break, and how far its clock may be from those that wrote on the node.
struct EngineTime {
  absl::Duration active = absl::ZeroDuration();
  absl::Duration skew = absl::ZeroDuration();
};

class SecondOpinion {
 public:
  // `scene` outlives it.
  SecondOpinion(const Scene& scene, EngineTime time);

  // What is wrong with the plan of the node; empty: nothing.
  std::string WhyWrong(const NodePlan& plan);
  // Why the node, of which nothing is planned and all is known, has to go on; empty: it may stay as it is.
  std::string WhyNotStay(const std::optional<Gate>& gate);
  // Of a failed node.
  bool MayTryAgain();

 private:
  // What the engine knows by the marks on the node, as the states of the plan change them.
  struct Marks {
    bool cordoned = false;
    bool noted = false;
    bool safe_load = false;
    bool requested = false;
    bool requestor_mode = false;
    // An empty text is a mark, too.
    std::optional<std::string> restart_pod = std::nullopt;
    std::optional<std::string> failed_revision = std::nullopt;
    int failures = 0;
    absl::Time last_failure = absl::InfinitePast();
    std::string restart_only = {};
  };

  void ReadMarks();
  bool IsNewRevision() const;
  std::optional<UpgradeState> StateAtStart(const Node& node) const;

  // Guards: why the node may not go from the state where it is to the next; empty: it may.
  std::string WhyNotGo(UpgradeState to) const;
  std::string WhyNotRequired() const;
  std::string WhyNotDone() const;
  std::string WhyNotProvedYet() const;
  // The driver pods are those that the node is to have, and ready.
  bool Works() const;
  std::string WhyNotBack(UpgradeState to) const;
  std::string WhyNotStart(UpgradeState to) const;
  std::string WhyNotPastJobs(UpgradeState to) const;
  std::string WhyNotPastDeletion(UpgradeState to) const;
  std::string WhyNotPastDrain(UpgradeState to) const;
  std::string WhyNotPastMaintenance(UpgradeState to) const;
  std::string WhyNotPastRestart(UpgradeState to) const;
  std::string WhyNotPastValidation(UpgradeState to) const;
  std::string WhyNotPastFailure(UpgradeState to) const;
  std::string WhyNotFinish(UpgradeState to) const;
  std::string WhyNotProved(UpgradeState to) const;
  std::string WhyNotLoaded() const;

  bool IsRestartEnough() const;
  bool MustRestartOnly() const;
  bool RestartsOnly() const;
  // When the state where it is began, by a timer of its own; nullopt: it has none.
  std::optional<absl::Time> Began() const;
  // Whether its time may be over; with `sure_`: whether it must be.
  bool IsOver(absl::Duration timeout) const;
  bool IsRetryDue() const;
  std::optional<absl::Duration> Timeout(UpgradeState state) const;

  // What is done in the state where it is, whether or not the node stays there.
  void Touch();
  // What the patch does that goes on to `to`.
  void Go(UpgradeState to);
  void Start();
  void Fail();
  void HoldCordon();
  void NoteWhoseCordon();

  std::string WhyWrongMarks(const NodePlan& plan) const;
  std::string WhyWrongTimer(const NodePlan& plan, const StringMap& after) const;
  std::string WhyWrongNames(bool cordoned, const StringMap& after) const;
  std::string WhyWrongRequests(const NodePlan& plan) const;
  std::string WhyWrongRemovals(const NodePlan& plan) const;
  std::string WhyWrongCall(const MaintenanceCall& call) const;

  const Scene& scene_;
  const OperatorFacts& facts_;
  const EngineTime time_;
  Marks marks_;
  DriverSeen driver_;
  UpgradeState at_ = UpgradeState::kUnknown;
  bool entered_ = false;
  // Each state is a patch of its own.
  bool one_by_one_ = false;
  // Asked whether it must go, not whether it may.
  bool sure_ = false;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_OPINION_SECOND_OPINION_H_
