/// What became of a node's plan: the output of writing it.
///
/// Defines NodeOutcome.
///
///     for (const NodeOutcome& outcome : result->outcomes) failures += !outcome.status.ok();
///
/// A value, copied like any other.
#ifndef DRIVERUPGRADE_NODE_OUTCOME_H_
#define DRIVERUPGRADE_NODE_OUTCOME_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade {

/// What became of one NodePlan.
struct NodeOutcome {
  std::string node = {};
  /// The first failure, after which the rest of the plan was dropped. A refused eviction is no failure.
  absl::Status status = absl::OkStatus();
  /// The patch was acknowledged.
  bool patched = false;
  int evictions_accepted = 0;
  int evictions_refused = 0;
  int pods_deleted = 0;
  /// Number of gangs (RolloutPolicy::gangs) that these evictions and deletions were the first of their unit to interrupt.
  int gangs_interrupted = 0;
  /// The node as the patch left it; nullptr without one.
  std::shared_ptr<const Node> node_after = nullptr;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_NODE_OUTCOME_H_
