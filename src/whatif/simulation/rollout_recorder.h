// Records a simulated rollout: the states and gates of its nodes, the peak number of unavailable nodes and pods, and
// the numbers of cordoned nodes and evicted pods.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SIMULATION_ROLLOUT_RECORDER_H_
#define DRIVERUPGRADE_SRC_WHATIF_SIMULATION_ROLLOUT_RECORDER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_state.h"
#include "whatif/simulation/simulate.h"

namespace driverupgrade::whatif {

// Must be called by the simulation's only thread. The cluster is locked during `Follow`.
class RolloutRecorder {
 public:
  // `identity` must outlive this object.
  RolloutRecorder(const DriverIdentity& identity, absl::Time began) : identity_(identity), began_(began) {}

  // Turns on the counting of kept pods. `pods` are all pods at the start.
  void CountKept(const std::vector<Pod>& pods);
  void Follow(const testing::Change& change);
  // Records the gate of a node. A gate with the same reason counts as the same gate, even if its detail changes.
  // `closed` is true if no node may start at this time of the week.
  void Hold(const NodeGate& gate, bool closed, absl::Time now);
  void Unhold(const std::string& node);
  // Records that the node fails with this plan. `subject`: see Blocked::subject.
  void Fail(const NodePlan& plan, std::string subject, absl::Time now);
  // Returns true if each node is done or has a gate that ends the rollout (GateTraits::ends_rollout). This check is
  // cheaper than a plan of all nodes.
  bool MayBeOver(const Tally& totals) const;
  absl::Duration last_change() const { return last_change_; }
  // Returns why the node is not done, given its gate at the end. If the node now waits for a closed window, returns the
  // gate that the node had while an earlier window was open. The subject is set only for a failed node.
  Blocked WhyBlocked(const NodeGate& gate) const;
  void Finish(Rollout& rollout);

 private:
  struct Held {
    GateReason reason = {};
    absl::Duration since = {};
    bool closed = false;
    // Gate of the node while a window was open; nullopt if no window has opened yet.
    std::optional<Blocked> in_window = std::nullopt;
  };
  void FollowPods(const testing::Change& change);
  void Enter(const std::string& node, UpgradeState state, absl::Duration at);

  const DriverIdentity& identity_;
  const absl::Time began_;
  std::set<std::string> unavailable_;
  int peak_ = 0;
  // Number of pods that were ready at the start and are not ready now.
  int pods_missing_ = 0;
  int pods_peak_ = 0;
  std::set<std::string> cordoned_;
  int evicted_ = 0;
  bool counts_kept_ = false;
  // Number of ready pods by node, now and when the node's driver pod was last stopped.
  std::map<std::string, int> pods_on_;
  std::map<std::string, int> kept_on_;
  absl::Duration last_change_ = {};
  std::map<std::string, NodeHistory> histories_;
  std::map<std::string, Held> held_;
  // The last failure of each node that failed.
  std::map<std::string, Blocked> failures_;
  // Number of held gates that do not end the rollout, because they can still open.
  int passing_ = 0;
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_SIMULATION_ROLLOUT_RECORDER_H_
