// The parts of a view that are decoded once, when it is made: the marks on its node, and the data about its driver pods
// that a judgement needs.
#ifndef DRIVERUPGRADE_SRC_DECIDE_MARKS_OF_VIEW_H_
#define DRIVERUPGRADE_SRC_DECIDE_MARKS_OF_VIEW_H_

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_policy.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {

// The data of a driver pod that PodManager::Assess needs.
struct DriverPodMarks {
  // UID of the controlling owner; nullopt without one.
  std::optional<std::string_view> owner_uid = std::nullopt;
  std::string_view revision = {};
  // Highest restart count of the containers that are not ready.
  int restarts_unready = std::numeric_limits<int>::min();
  bool unreadable = false;
  bool has_owners = false;
  bool terminating = false;
  bool ready = false;
};

// The driver pods in the order of NodeView::driver_pods. In a large fleet a judgement mostly waits for memory, and a
// Pod is spread over a dozen memory blocks. If a node has only one driver pod, the required data is therefore stored
// here, and its texts in one further block.
class DriverPodsMarks {
 public:
  explicit DriverPodsMarks(const std::vector<Pod>& pods);
  DriverPodsMarks(const DriverPodsMarks&) = delete;
  DriverPodsMarks& operator=(const DriverPodsMarks&) = delete;
  const DriverPodMarks& operator[](std::size_t i) const { return i == 0 ? first_ : others_[i - 1]; }

 private:
  DriverPodMarks Decode(const Pod& pod);
  // Returns a copy that does not move.
  std::string_view Keep(std::string_view text);

  DriverPodMarks first_;  // the only one on most nodes
  std::vector<DriverPodMarks> others_;
  std::string texts_;
};

// Returns true if there is a driver pod on the node and all of them are ready.
bool DriverRuns(const NodeView& view);

// The data that ShareView stores in a view.
struct MarksOfDriver {
  MarksOfDriver(const NodeView& view, const DriverIdentity& driver)
      : identity(driver), marks(DecodeMarks(view.node, driver, DriverRuns(view))), pods(view.driver_pods) {}
  DriverIdentity identity;
  NodeMarks marks;
  DriverPodsMarks pods;
};

// The marks that ShareView has decoded for `identity`. The marks of a view that was created by hand are decoded here.
// The view must outlive them.
class MarksOfView {
 public:
  MarksOfView(const NodeView& view, const DriverIdentity& identity);
  MarksOfView(const MarksOfView&) = delete;
  MarksOfView& operator=(const MarksOfView&) = delete;
  const NodeMarks& operator*() const { return *marks_; }
  const NodeMarks* operator->() const { return marks_; }
  // Corrects the state of a node without a label after its driver pods were assessed.
  void SetUnlabelled(UpgradeState state);

  // Returns nullptr if the view was created by hand.
  static const MarksOfDriver* Decoded(const NodeView& view) { return view.marks.decoded_.get(); }

 private:
  std::optional<NodeMarks> own_;
  const NodeMarks* marks_;
};

// The same for the view's driver pods.
class DriverPodsOfView {
 public:
  explicit DriverPodsOfView(const NodeView& view);
  DriverPodsOfView(const DriverPodsOfView&) = delete;
  DriverPodsOfView& operator=(const DriverPodsOfView&) = delete;
  const DriverPodMarks& operator[](std::size_t i) const { return (*pods_)[i]; }

 private:
  std::optional<DriverPodsMarks> own_;
  const DriverPodsMarks* pods_;
};

// TallyOf for callers that already have the marks of the view.
Tally TallyByMarks(const NodeView& view, const NodeMarks& marks, const DriverIdentity& identity,
                   const NodeRules& rules);

// Returns a driver pod of the node that is not Ready, or that waits to be scheduled to a node without another driver
// pod; nullptr if there is no such pod.
const Pod* UnreadyDriverPod(const NodeView& view);
// Returns true if the node is unavailable apart from its upgrade and its cordon: not Ready, about to leave, or without
// a driver pod because Kubernetes cannot schedule it.
bool IsOutOfUse(const NodeView& view, const NodeRules& rules);
// Returns an item of UpgradeBudget::unavailable_nodes: `gpu-7 (NotReady)`. The node must count as unavailable.
std::string UnavailableNode(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules);
inline constexpr std::size_t kUnavailableNamed = 5;

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_MARKS_OF_VIEW_H_
