// Selects the nodes that an Advance judges again: changed nodes, nodes whose wake time has passed and, during a sweep,
// all nodes in parts.
#ifndef DRIVERUPGRADE_SRC_DECIDE_DUE_NODES_H_
#define DRIVERUPGRADE_SRC_DECIDE_DUE_NODES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "decide/planned_node.h"

namespace driverupgrade::internal {

class DueNodes {
 public:
  using Names = std::set<std::string>;

  // The node has changed or was deleted.
  void Change(const std::string& name) { changed_.insert(name); }
  void WakeAt(absl::Time time, const std::string& name) { wakes_.emplace(time, name); }
  void LetSleep(absl::Time time, const std::string& name) { wakes_.erase({time, name}); }
  // Makes all nodes due, except for those judged from now on. `judgements`: the number of the last judgement.
  void Sweep(std::uint64_t judgements);

  // Returns all due nodes in `acting`, and at most `most` of the other nodes that are due or deleted.
  Names Take(absl::Time now, std::size_t most, const PlannedNodes& nodes, const Names& acting);
  // Returns true if the last Take left some nodes, or if more nodes have become due since.
  bool IsAny() const { return any_woken_ || !changed_.empty() || sweep_; }
  // Returns the time at which the next node is due.
  std::optional<absl::Time> wake_at() const;

 private:
  void TakeWoken(absl::Time now, std::size_t most, const Names& acting, Names& due);
  void TakeChanged(std::size_t most, Names& due);
  void TakeSwept(std::size_t most, const PlannedNodes& nodes, Names& due);

  Names changed_;
  std::string changed_at_;  // the last node that was taken, so that nodes that change often do not starve the others
  std::set<std::pair<absl::Time, std::string>> wakes_;
  bool any_woken_ = false;  // a node was due, and the last Take had no room for it
  // The sweep continues from `swept_to_` on, wrapping around to where it started.
  struct SweepEnd {
    std::string name;
    bool is_behind;               // the last node of all comes first
    std::uint64_t judgement = 0;  // nodes that were judged after this one are not judged again
  };
  std::optional<SweepEnd> sweep_ = std::nullopt;  // nullopt: no sweep is in progress
  std::string swept_to_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_DUE_NODES_H_
