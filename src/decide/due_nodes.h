// Selects the nodes that a call to Advance evaluates again: changed nodes, nodes whose wake-up time has passed and,
// during a sweep, all nodes in batches.
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

  // Makes the node due. Must be called if the node has changed or was deleted.
  void Change(const std::string& name) { changed_.insert(name); }
  void WakeAt(absl::Time time, const std::string& name) { wakes_.emplace(time, name); }
  void LetSleep(absl::Time time, const std::string& name) { wakes_.erase({time, name}); }
  // Starts a sweep: every node becomes due, unless it is evaluated before the sweep reaches it. `judgements`: number of
  // the last evaluation.
  void Sweep(std::uint64_t judgements);

  // Returns all nodes in `acting`, and at most `most` other nodes that are due or were deleted.
  Names Take(absl::Time now, std::size_t most, const PlannedNodes& nodes, const Names& acting);
  // Returns true if the last Take left out due nodes, or if a node has changed or a sweep has started since then.
  bool IsAny() const { return any_woken_ || !changed_.empty() || sweep_; }
  // Returns the earliest wake-up time; nullopt if no node has a wake-up time.
  std::optional<absl::Time> wake_at() const;

 private:
  void TakeWoken(absl::Time now, std::size_t most, const Names& acting, Names& due);
  void TakeChanged(std::size_t most, Names& due);
  void TakeSwept(std::size_t most, const PlannedNodes& nodes, Names& due);

  Names changed_;
  std::string changed_at_;  // last node taken; the next Take continues after this node, so that no node starves
  std::set<std::pair<absl::Time, std::string>> wakes_;
  bool any_woken_ = false;  // the last Take had no room for a due node
  // The sweep continues after `swept_to_`, wraps around, and ends where it started.
  struct SweepEnd {
    std::string name;
    bool is_behind;               // the sweep has not wrapped around yet
    std::uint64_t judgement = 0;  // last evaluation before the sweep; nodes that were evaluated later are skipped
  };
  std::optional<SweepEnd> sweep_ = std::nullopt;  // nullopt: no sweep is in progress
  std::string swept_to_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_DUE_NODES_H_
