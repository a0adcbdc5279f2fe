#include "driverupgrade/cluster_snapshot.h"

#include <algorithm>
#include <utility>

#include "decide/marks_of_view.h"
#include "model/unreadable.h"

namespace driverupgrade {

std::shared_ptr<const NodeView> ShareView(NodeView view, const DriverIdentity& identity) {
  auto shared = std::make_shared<NodeView>(std::move(view));
  // The marks must be decoded last, because they refer to strings in the node, and these strings must not move
  // afterwards.
  shared->marks.decoded_ = std::make_shared<const internal::MarksOfDriver>(*shared, identity);
  return shared;
}

namespace internal {
namespace {

std::string_view OwnerUidOf(const Pod& pod) {
  const OwnerReference* owner = ControllerOf(pod);
  return owner == nullptr ? std::string_view() : std::string_view(owner->uid);
}

int RestartsUnready(const Pod& pod) {
  int most = DriverPodMarks().restarts_unready;
  for (const std::vector<ContainerStatus>* statuses : {&pod.init_container_statuses, &pod.container_statuses}) {
    for (const ContainerStatus& status : *statuses) {
      if (!status.ready) most = std::max(most, status.restart_count);
    }
  }
  return most;
}

}  // namespace

// A terminating driver pod does not count as running even if it is Ready, because it is about to be replaced.
bool DriverRuns(const NodeView& view) {
  return !view.driver_pods.empty() && std::all_of(view.driver_pods.begin(), view.driver_pods.end(), [](const Pod& pod) {
    return IsReady(pod) && !pod.deletion_timestamp;
  });
}

DriverPodsMarks::DriverPodsMarks(const std::vector<Pod>& pods) {
  std::size_t size = 0;
  for (const Pod& pod : pods) size += OwnerUidOf(pod).size() + RevisionHash(pod).size();
  texts_.reserve(size);  // the strings must not move
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (i == 0) {
      first_ = Decode(pods[i]);
    } else {
      others_.push_back(Decode(pods[i]));
    }
  }
}

DriverPodMarks DriverPodsMarks::Decode(const Pod& pod) {
  DriverPodMarks marks{.revision = Keep(RevisionHash(pod)),
                       .restarts_unready = RestartsUnready(pod),
                       .unreadable = IsUnreadable(pod),
                       .has_owners = !pod.owners.empty(),
                       .terminating = pod.deletion_timestamp.has_value(),
                       .ready = IsReady(pod)};
  if (ControllerOf(pod) != nullptr) marks.owner_uid = Keep(OwnerUidOf(pod));
  return marks;
}

std::string_view DriverPodsMarks::Keep(std::string_view text) {
  texts_ += text;
  return std::string_view(texts_).substr(texts_.size() - text.size());
}

MarksOfView::MarksOfView(const NodeView& view, const DriverIdentity& identity) {
  const MarksOfDriver* decoded = Decoded(view);
  const bool is_known = decoded != nullptr && decoded->identity == identity;
  marks_ = is_known ? &decoded->marks : &own_.emplace(DecodeMarks(view.node, identity, DriverRuns(view)));
}

void MarksOfView::SetUnlabelled(UpgradeState state) {
  if (!own_) own_ = *marks_;
  own_->unlabelled = state;
  marks_ = &*own_;
}

DriverPodsOfView::DriverPodsOfView(const NodeView& view) {
  const MarksOfDriver* decoded = MarksOfView::Decoded(view);
  pods_ = decoded != nullptr ? &decoded->pods : &own_.emplace(view.driver_pods);
}

}  // namespace internal
}  // namespace driverupgrade
