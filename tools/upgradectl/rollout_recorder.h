// Follows a simulated rollout: the states and gates of its nodes, and how much was unavailable at the same time.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_ROLLOUT_RECORDER_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_ROLLOUT_RECORDER_H_

#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_state.h"
#include "upgradectl/request.h"
#include "upgradectl/simulate.h"

namespace upgradectl {

/// Called by the simulation's only thread, with the cluster locked in `Follow`. Refers to `request`, which must outlive it.
class RolloutRecorder {
 public:
  RolloutRecorder(const Request& request, absl::Time began) : request_(request), began_(began) {}

  void Follow(const driverupgrade::testing::Change& change);
  /// A gate whose reason stays is the same one, even if its detail changes.
  void Hold(const driverupgrade::NodeGate& gate, absl::Time now);
  void Unhold(const std::string& node);
  /// Whether each node is done, or held by a gate that time does not open. Unlike the plan of all nodes, this is cheap.
  bool MayBeOver(const driverupgrade::Tally& totals) const;
  absl::Duration last_change() const { return last_change_; }
  absl::Duration HeldSince(const std::string& node) const;
  void Finish(Rollout& rollout);

 private:
  struct Held {
    driverupgrade::GateReason reason = {};
    absl::Duration since = {};
  };
  void FollowPods(const driverupgrade::testing::Versions<driverupgrade::Pod>& pod);
  void Enter(const std::string& node, driverupgrade::UpgradeState state, absl::Duration at);

  const Request& request_;
  const absl::Time began_;
  std::set<std::string> unavailable_;
  int peak_ = 0;
  // Number of pods that were ready in the beginning and are not ready now.
  int pods_missing_ = 0;
  int pods_peak_ = 0;
  absl::Duration last_change_ = {};
  std::map<std::string, NodeHistory> histories_;
  std::map<std::string, Held> held_;
  // How many of them a later pass may lift by itself.
  int passing_ = 0;
};

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_ROLLOUT_RECORDER_H_
