// Decides which waiting nodes start, and why the others must wait.
//
//     queue.Add({.node = "gpu-7", .candidate = candidate});
//     std::vector<std::string> starting = queue.Admit(Limits::Of(budgets, paused));
//
// The order is fixed. Candidates with a grant come first, so that no grant stays unused, and the operator's own node
// comes last (dep-F14, dep-F19). Otherwise, nodes are ordered by name.
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

// A waiting node. The caller owns the string to which `node` refers.
struct WaitingNode {
  std::string_view node = {};
  Candidate candidate = {};
};

// Returns true if `a` comes before `b` in the order of admission.
bool GoesBefore(const WaitingNode& a, const WaitingNode& b);
// Returns a copy of `gate` that contains `place`, the node's place among the refused nodes, starting at 1.
Gate AtPlace(const Gate& gate, int place);

// The reasons why a call to Admit refused nodes. A plain value type that can outlive the queue.
class Refusals {
 public:
  // Returns the gate of a node that the call to Admit refused. The gate does not contain the node's place in the queue.
  const Gate& Of(const WaitingNode& waiting) const;

 private:
  friend class AdmissionQueue;
  // The default key sorts before all other keys.
  using Key = std::tuple<bool, bool, std::string>;
  struct From {
    Key key = {};
    Gate gate = {};
  };
  static Key KeyOf(const WaitingNode& waiting);

  std::map<Candidate, std::vector<From>> kinds_ = {};  // each vector is ordered by key
};

// The waiting nodes by kind; the nodes of a kind are equal candidates. A round repeatedly takes the first node among
// all kinds that are not refused, and ends when every kind is refused. A round therefore costs O(admitted (kinds + log
// waiting)). Requires that a node that takes headroom also needs it, which Judge ensures. Not thread-safe.
class AdmissionQueue {
 public:
  void Add(const WaitingNode& waiting);
  // Removes the node from the queue. Does nothing if the node is not waiting.
  void Remove(const WaitingNode& waiting);

  // Removes from the queue all nodes that may start, and returns their names in admission order.
  std::vector<std::string> Admit(Limits limits);
  // Returns all nodes that were already waiting before the last Admit and now wait for another reason. The result may
  // include further nodes.
  std::vector<std::string> ChangedRefusals() const;

  // The refusals of the last Admit. The reference is valid until the next Admit.
  const Refusals& refusals() const { return refusals_; }

 private:
  // The order of admission: (has no grant, is the operator's own node, name).
  using Key = Refusals::Key;
  // The refusal in one round that applies to the key `from` and to the keys after it.
  struct Refused {
    Key from = {};
    const Limit* limit = nullptr;  // limit that refuses the keys
    Gate gate = {};                // gate at the end of the round
  };
  struct Kind {
    std::set<Key> waiting = {};
    // Refusals of the last round and of the round before it, ordered by `from`. The `limit` of a refusal in `before`
    // no longer exists, and must not be used.
    std::vector<Refused> now = {};
    std::vector<Refused> before = {};
  };

  // Returns the kind of the node to admit next. Records which kinds are refused after `last`, and by which limit.
  std::map<Candidate, Kind>::iterator Next(const Key& last);
  // Returns true if `key` comes before all keys of the refusal that follows `refused[i]`, if any.
  static bool Reaches(const std::vector<Refused>& refused, std::size_t i, const Key& key);

  Limits limits_ = {};
  std::map<Candidate, Kind> kinds_ = {};
  Refusals refusals_ = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_QUEUE_H_
