// Decides which of the waiting nodes start, and why the others do not.
//
//     queue.Add({.node = "gpu-7", .candidate = candidate});
//     std::vector<std::string> starting = queue.Admit(Limits::Of(budgets, paused));
//
// There is one order: candidates with a grant first, so that no grant lies idle; by node name; the
// operator's own node last (dep-F14, dep-F19).
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_QUEUE_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_QUEUE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "decide/admission/limits.h"

namespace driverupgrade {

// A node that waits. `node` belongs to whoever asks.
struct WaitingNode {
  std::string_view node = {};
  Candidate candidate = {};
};

// The order of admission.
bool GoesBefore(const WaitingNode& a, const WaitingNode& b);
// `gate` for whoever is refused, with the place among those that are, from 1.
Gate AtPlace(const Gate& gate, int place);

// Why those wait that one Admit of a queue refused. A value, which the queue may outgrow.
class Refusals {
 public:
  // Of a node that waited then; without its place in the queue.
  const Gate& Of(const WaitingNode& waiting) const;

 private:
  friend class AdmissionQueue;
  // The default is before all.
  using Key = std::tuple<bool, bool, std::string>;
  struct From {
    Key key = {};
    Gate gate = {};
  };
  static Key KeyOf(const WaitingNode& waiting);

  std::map<Candidate, std::vector<From>> kinds_ = {};  // each in order of the keys
};

// The nodes that wait by kind, where those of a kind are equal candidates: a round takes the first of the kinds that
// are still admitted and ends when none is, so it costs O((admitted + told) (kinds + log waiting)). Presumes what Judge
// sees to: who takes headroom needs it. Not thread-safe.
class AdmissionQueue {
 public:
  void Add(const WaitingNode& waiting);
  // Nothing to do if it does not wait.
  void Remove(const WaitingNode& waiting);

  // Takes those that may start out of the queue, and returns their names in the order of their admission.
  std::vector<std::string> Admit(Limits limits);
  // Those that wait, and waited before the last Admit, for another reason than before it. May name others, too.
  std::vector<std::string> ChangedRefusals() const;

  // Of the last Admit; valid until the next one.
  const Refusals& refusals() const { return refusals_; }

 private:
  // The order of admission: (has no grant, is the operator's own node, name).
  using Key = Refusals::Key;
  // From `from` on, `limit` refused in a round.
  struct Refused {
    Key from = {};
    const Limit* limit = nullptr;  // of that round
    Gate gate = {};                // as of its end
  };
  struct Kind {
    std::set<Key> waiting = {};
    // In order of `from`: of the last round, and of the one before it, whose limits are gone.
    std::vector<Refused> now = {};
    std::vector<Refused> before = {};
  };

  // The kind whose first node is next to be admitted; notes which kinds are refused after `last`, and by what.
  std::map<Candidate, Kind>::iterator Next(const Key& last);
  // Whether refusal `i` still holds at `key`, and not the one after it.
  static bool Reaches(const std::vector<Refused>& refused, std::size_t i, const Key& key);

  Limits limits_ = {};
  std::map<Candidate, Kind> kinds_ = {};
  Refusals refusals_ = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_QUEUE_H_
