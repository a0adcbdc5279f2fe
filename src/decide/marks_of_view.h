// Decodes parts of a view once, when the view is created: the marks on the node, and the data about the driver pods
// that an evaluation needs.
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

// The part of a driver pod's data that PodManager::Assess needs.
struct DriverPodMarks {
  // UID of the controlling owner; nullopt if the pod has no controller.
  std::optional<std::string_view> owner_uid = std::nullopt;
  std::string_view revision = {};
  // Highest restart count of the containers that are not ready.
  int restarts_unready = std::numeric_limits<int>::min();
  bool unreadable = false;
  bool has_owners = false;
  bool terminating = false;
  bool ready = false;
};

// The driver pods in the order of NodeView::driver_pods. In a large fleet, evaluating a node mostly means waiting for
// memory, and the data of a Pod is spread over a dozen memory blocks. The data of the first driver pod is therefore
// stored in this object, and the strings of all pods in one further block.
class DriverPodsMarks {
 public:
  explicit DriverPodsMarks(const std::vector<Pod>& pods);
  DriverPodsMarks(const DriverPodsMarks&) = delete;
  DriverPodsMarks& operator=(const DriverPodsMarks&) = delete;
  const DriverPodMarks& operator[](std::size_t i) const { return i == 0 ? first_ : others_[i - 1]; }

 private:
  DriverPodMarks Decode(const Pod& pod);
  // Copies the text to `texts_`, which does not move, and returns the copy.
  std::string_view Keep(std::string_view text);

  DriverPodMarks first_;  // the only driver pod on most nodes
  std::vector<DriverPodMarks> others_;
  std::string texts_;
};

// Returns true if the node has driver pods, and if all of them are ready and not terminating.
bool DriverRuns(const NodeView& view);

// The data that ShareView stores in a view.
struct MarksOfDriver {
  MarksOfDriver(const NodeView& view, const DriverIdentity& driver)
      : identity(driver), marks(DecodeMarks(view.node, driver, DriverRuns(view))), pods(view.driver_pods) {}
  DriverIdentity identity;
  NodeMarks marks;
  DriverPodsMarks pods;
};

// Provides the marks of `identity`. Uses the marks that ShareView decoded, or decodes the marks itself if ShareView did
// not create the view or used another identity. The view must outlive this object.
class MarksOfView {
 public:
  MarksOfView(const NodeView& view, const DriverIdentity& identity);
  MarksOfView(const MarksOfView&) = delete;
  MarksOfView& operator=(const MarksOfView&) = delete;
  const NodeMarks& operator*() const { return *marks_; }
  const NodeMarks* operator->() const { return marks_; }
  // Corrects the state of a node without a state label. Must be called once the driver pods have been assessed.
  void SetUnlabelled(UpgradeState state);

  // Returns the data that ShareView decoded; nullptr if ShareView did not create the view.
  static const MarksOfDriver* Decoded(const NodeView& view) { return view.marks.decoded_.get(); }

 private:
  std::optional<NodeMarks> own_;
  const NodeMarks* marks_;
};

// The counterpart of MarksOfView for the driver pods of the view.
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

// Same as TallyOf, but for callers that already have the view's marks.
Tally TallyByMarks(const NodeView& view, const NodeMarks& marks, const DriverIdentity& identity,
                   const NodeRules& rules);

// Returns a driver pod on the node if the pod is not Ready. If the node has no driver pod, returns a driver pod that
// waits to be scheduled to the node. Returns nullptr if neither exists.
const Pod* UnreadyDriverPod(const NodeView& view);
// Returns true if the node is unavailable regardless of its upgrade and its cordon: it is NotReady, is about to leave
// the cluster, or has no driver pod because Kubernetes cannot schedule one.
bool IsOutOfUse(const NodeView& view, const NodeRules& rules);
// Returns an item of UpgradeBudget::unavailable_nodes, such as `gpu-7 (NotReady)`. The node must count as unavailable.
std::string UnavailableNode(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules);
inline constexpr std::size_t kUnavailableNamed = 5;

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_MARKS_OF_VIEW_H_
