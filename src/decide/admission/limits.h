// The limits on who may start, in the order in which they are asked.
//
//     Limits limits = Limits::Of({.all = budget, .granted = budget}, /*paused=*/false);
//     if (const Limit* limit = limits.Refusing(candidate)) return limit->Describe();
//     limits.Take(candidate);
//
// A further limit is one more class in limits.cc and one more line in Limits::Of. What it asks of a candidate that no
// other limit asks is a field of Candidate, and a bit of LimitsRoom::KindOf.
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

// One reason why a candidate may have to wait, while candidates are admitted one after the other. Candidates that
// are equal are refused alike, and a candidate that is refused stays refused until the end of the round.
class Limit {
 public:
  virtual ~Limit() = default;
  virtual bool Refuses(const Candidate& candidate) const = 0;
  // `candidate` starts.
  virtual void Take(const Candidate& /*candidate*/) {}
  // Why those that are refused wait, for a person.
  virtual Gate Describe() const = 0;
  virtual std::unique_ptr<Limit> Copy() const = 0;
};

// What the limits count with. A candidate that has a grant is counted already: for such candidates counts the budget
// without their own grants. A granted candidate that is refused (the policy shrank, or other nodes became unavailable)
// goes on counting in `all`, as it may be started by a patch that is still under way.
struct Budgets {
  UpgradeBudget all = {};
  UpgradeBudget granted = {};
  // How many grants the ledger has room for, and how many it keeps; nullopt: without a ledger.
  struct LedgerRoom {
    std::size_t max = 0;
    std::size_t kept = 0;
  };
  std::optional<LedgerRoom> ledger = std::nullopt;
};

// A copy counts on by itself.
class Limits {
 public:
  // Refuses nobody.
  Limits() = default;
  Limits(const Limits& other);
  Limits& operator=(const Limits& other) { return *this = Limits(other); }
  Limits(Limits&&) = default;
  Limits& operator=(Limits&&) = default;
  static Limits Of(const Budgets& budgets, bool paused);

  // The first limit that refuses `candidate`; nullptr if it may start. Lives as long as these limits.
  const Limit* Refusing(const Candidate& candidate) const;
  void Take(const Candidate& candidate);

 private:
  std::vector<std::unique_ptr<Limit>> limits_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_LIMITS_H_
