// Who of the waiting nodes may start, without looking at those that may not (arch-A10).
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_QUEUE_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_QUEUE_H_

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/admission.h"

namespace driverupgrade::inline v1::internal {

// The budgets while slots are handed out in order.
class AdmissionRound {
 public:
  AdmissionRound(const UpgradeBudget& budget, bool paused) : budget_(budget), paused_(paused) {}

  // Why nobody at all may start.
  std::optional<GateReason> Closed() const;
  // Why `candidate` may not start now; nullopt: it may. What is refused once is refused for the rest of the round.
  std::optional<GateReason> Refusal(const Candidate& candidate) const;
  void Take(const Candidate& candidate);
  bool SlotsAreOut() const { return taken_slots_ >= budget_.ParallelFree(); }
  // For a person.
  Gate Describe(GateReason reason) const;

 private:
  UpgradeBudget budget_;
  bool paused_;
  int taken_slots_ = 0;
  int taken_headroom_ = 0;
};

// `gate` with the place of its node in the queue.
Gate AtPlace(Gate gate, int place);

// The candidates, in the order of Admit within each kind of them, so that a round takes the first of the kinds that are
// still admitted and ends when none is: O((admitted + told) log waiting). Presumes what Judge sees to: who takes
// headroom needs it. Not thread-safe.
class AdmissionQueue {
 public:
  void Add(const Candidate& candidate);
  // Nothing to do if it does not wait.
  void Remove(const Candidate& candidate);

  // Takes those that may start out of the queue, and returns them in the order of their admission.
  std::vector<Candidate> Admit(const UpgradeBudget& budget, bool paused);
  // Those that wait, and waited before the last Admit, for another reason than before it. May name others, too.
  std::vector<std::string> ChangedRefusals() const;

  // Why a candidate that is in the queue was refused by the last Admit.
  Gate Refusal(const Candidate& candidate) const;
  // The same with the place in the queue, where `ahead` others wait before all; looks at all that wait.
  Gate RefusalAtPlace(const Candidate& candidate, std::size_t ahead = 0) const;
  std::map<std::string, Gate> AllRefusals(std::size_t ahead = 0) const;
  // How many wait.
  std::size_t size() const;

 private:
  // The operator's own node comes last.
  using Key = std::pair<bool, std::string>;
  using Nodes = std::set<Key>;
  struct Round {
    AdmissionRound budgets = {UpgradeBudget{}, /*paused=*/false};
    // The candidate after which no slot was left; the smallest Key if there was none from the start.
    std::optional<Key> last_slot = std::nullopt;
  };

  static std::size_t KindOf(const Candidate& candidate);
  static Candidate OfKind(std::size_t kind);
  // The kind whose first node is next to be admitted.
  std::optional<std::size_t> NextKind(const AdmissionRound& budgets) const;
  GateReason ReasonAt(std::size_t kind, const Key& key) const;

  std::array<Nodes, 8> waiting_;
  Round round_;
  Round before_;
};

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_QUEUE_H_
