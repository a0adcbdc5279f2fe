// The limits that decide which nodes may start, in the order in which they are checked.
//
//     Limits limits = Limits::Of({.all = budget, .granted = budget}, /*paused=*/false);
//     if (const Limit* limit = limits.Refusing(candidate)) return limit->Describe();
//     limits.Take(candidate);
//
// To add a limit, add a class to limits.cc and a line to Limits::Of. If the new limit checks a property of a candidate
// that no other limit checks, add a field to Candidate and a bit to LimitsRoom::KindOf as well.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_LIMITS_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_LIMITS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "decide/verdict.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"

namespace driverupgrade {

// A limit that can make candidates wait. Candidates are admitted one at a time. Equal candidates get the same result,
// and a refused candidate stays refused until the end of the round.
class Limit {
 public:
  virtual ~Limit() = default;
  virtual bool Refuses(const Candidate& candidate) const = 0;
  // Records the start of `candidate`.
  virtual void Take(const Candidate& /*candidate*/) {}
  // Returns a gate that explains to users why the refused candidates wait.
  virtual Gate Describe() const = 0;
  virtual std::unique_ptr<Limit> Copy() const = 0;
};

// The budgets that the limits use. Candidates with a grant are already counted in `all`, so they are checked against
// `granted`, which does not count the grants of candidates. A candidate with a grant can be refused because a limit was
// lowered or other nodes became unavailable. It then still counts in `all`, because a patch in flight may start it.
struct Budgets {
  UpgradeBudget all = {};
  UpgradeBudget granted = {};
  // Maximum number of grants in the ledger, and number of grants that the ledger keeps; nullopt if there is no ledger.
  struct LedgerRoom {
    std::size_t max = 0;
    std::size_t kept = 0;
  };
  std::optional<LedgerRoom> ledger = std::nullopt;
};

// All limits of one round, in the order in which they are checked. A copy counts independently of the original.
class Limits {
 public:
  // Creates an object without limits, which refuses no candidate.
  Limits() = default;
  Limits(const Limits& other);
  Limits& operator=(const Limits& other) { return *this = Limits(other); }
  Limits(Limits&&) = default;
  Limits& operator=(Limits&&) = default;
  static Limits Of(const Budgets& budgets, bool paused);

  // Returns the first limit that refuses `candidate`; nullptr if the candidate may start. The result lives as long as
  // this object.
  const Limit* Refusing(const Candidate& candidate) const;
  void Take(const Candidate& candidate);

 private:
  std::vector<std::unique_ptr<Limit>> limits_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_LIMITS_H_
