// What is decoded of a view once, when it is made: the marks on its node, and what a judgement asks of its driver pods.
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

// A driver pod as PodManager::Assess asks for it.
struct DriverPodMarks {
  // Of the controlling owner; nullopt without one.
  std::optional<std::string_view> owner_uid = std::nullopt;
  std::string_view revision = {};
  // Of the containers that are not ready: the highest count.
  int restarts_unready = std::numeric_limits<int>::min();
  bool unreadable = false;
  bool has_owners = false;
  bool terminating = false;
  bool ready = false;
};

// In the order of NodeView::driver_pods. In a big fleet a judgement is mostly a wait for memory, and a pod lies in a
// dozen pieces of it; what is asked of the only pod of a node lies here, and its texts in one piece more.
class DriverPodsMarks {
 public:
  explicit DriverPodsMarks(const std::vector<Pod>& pods);
  DriverPodsMarks(const DriverPodsMarks&) = delete;
  DriverPodsMarks& operator=(const DriverPodsMarks&) = delete;
  const DriverPodMarks& operator[](std::size_t i) const { return i == 0 ? first_ : others_[i - 1]; }

 private:
  DriverPodMarks Decode(const Pod& pod);
  // A copy that stays where it is.
  std::string_view Keep(std::string_view text);

  DriverPodMarks first_;  // most nodes have no other
  std::vector<DriverPodMarks> others_;
  std::string texts_;
};

// Whether there is a driver pod on the node and all of them are ready.
bool DriverRuns(const NodeView& view);

// What ShareView leaves in a view.
struct MarksOfDriver {
  MarksOfDriver(const NodeView& view, const DriverIdentity& driver)
      : identity(driver), marks(DecodeMarks(view.node, driver, DriverRuns(view))), pods(view.driver_pods) {}
  DriverIdentity identity;
  NodeMarks marks;
  DriverPodsMarks pods;
};

// The marks that ShareView has decoded for `identity`, or else, for a view made by hand, decoded here. The view has to
// outlive them.
class MarksOfView {
 public:
  MarksOfView(const NodeView& view, const DriverIdentity& identity);
  MarksOfView(const MarksOfView&) = delete;
  MarksOfView& operator=(const MarksOfView&) = delete;
  const NodeMarks& operator*() const { return *marks_; }
  const NodeMarks* operator->() const { return marks_; }
  // Corrects the state of a node without a label after its driver pods were assessed.
  void SetUnlabelled(UpgradeState state);

  // nullptr: the view was made by hand.
  static const MarksOfDriver* Decoded(const NodeView& view) { return view.marks.decoded_.get(); }

 private:
  std::optional<NodeMarks> own_;
  const NodeMarks* marks_;
};

// The same of its driver pods.
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

// TallyOf for whoever has the marks of the view.
Tally TallyByMarks(const NodeView& view, const NodeMarks& marks, const DriverIdentity& identity,
                   const NodeRules& rules);

// A driver pod of the node that is not Ready, or that waits for the node, which has no other; nullptr without such a pod.
const Pod* UnreadyDriverPod(const NodeView& view);
// Whether the node is unavailable apart from its upgrade and its cordon: not Ready, about to leave, or without a driver
// pod because Kubernetes cannot schedule it.
bool IsOutOfUse(const NodeView& view, const NodeRules& rules);
// An item of UpgradeBudget::unavailable_nodes: `gpu-7 (NotReady)`. The node counts as unavailable.
std::string UnavailableNode(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules);
inline constexpr std::size_t kUnavailableNamed = 5;

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_MARKS_OF_VIEW_H_
