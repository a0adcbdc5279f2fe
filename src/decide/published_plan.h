// Defines the parts of a PublishedPlan.
#ifndef DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_
#define DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/admission/queue.h"
#include "decide/incremental_planner.h"
#include "decide/judged_nodes.h"
#include "driverupgrade/driver_identity.h"

namespace driverupgrade::internal {

// The reasons why nodes wait, as of the last round of a rollout.
struct RolloutWaits {
  struct Wait {
    // One of `gates`; null if the node does not wait.
    const Gate* gate = nullptr;
    // Place in the queue, starting at 1.
    int place = 0;
  };
  // Sorted names of all nodes; not null.
  std::shared_ptr<const std::vector<std::string>> names = nullptr;
  // Indexes in RolloutStatus::stages, one for each name, in the same order.
  std::shared_ptr<const std::vector<int>> stages = nullptr;
  std::vector<Wait> nodes = {};
  std::deque<Gate> gates = {};

  // Returns the wait of the node; nullptr if the last round started the node, or if the node was added after that
  // round. A node that was evaluated after the last round may wait without a gate until the next round.
  const Wait* WaitOf(std::string_view node) const;
  // Returns the node's gate with its place in the queue; nullopt if WaitOf returns nullptr.
  std::optional<Gate> GateAtPlace(std::string_view node) const;
  // Returns the index of the node's stage; nullopt if the node was not part of the last round.
  std::optional<std::size_t> StageOf(std::string_view node) const;

 private:
  std::optional<std::size_t> IndexOf(std::string_view node) const;
};

struct PublishedPlan::Parts {
  // Not null.
  std::shared_ptr<const DriverIdentity> identity = nullptr;
  std::shared_ptr<const DriverFacts> driver = nullptr;
  bool auto_upgrade = false;
  bool paused = false;
  // Key of the label that defines the policy's groups; empty if there are no groups.
  std::string group_label = {};
  // The plan without its nodes and gates.
  Plan plan = {};
  internal::JudgedNodes nodes = {};
  Refusals refusals = {};
  // Used instead of `refusals` if the policy has a rollout; otherwise nullptr.
  std::shared_ptr<const internal::RolloutWaits> rollout = nullptr;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_PUBLISHED_PLAN_H_
