/// A facade that delivers the cluster's responses only when the test allows it.
///
/// Defines HoldingFacade. Thread-safe unless noted otherwise.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_HOLDING_FACADE_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_HOLDING_FACADE_H_

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_facade.h"

namespace driverupgrade::tests {

/// Forwards each DaemonSet as if the DaemonSet controller had not observed its last change yet.
class UnobservedSink final : public WatchSink<DaemonSet> {
 public:
  explicit UnobservedSink(WatchSink<DaemonSet>& next) : next_(next) {}
  bool OnList(std::vector<DaemonSet> objects, std::string_view version) override {
    for (DaemonSet& object : objects) --object.observed_generation;
    return next_.OnList(std::move(objects), version);
  }
  bool OnChange(DaemonSet object, std::string_view version) override {
    --object.observed_generation;
    return next_.OnChange(std::move(object), version);
  }
  bool OnDelete(DaemonSet object, std::string_view version) override {
    return next_.OnDelete(std::move(object), version);
  }
  bool OnBookmark(std::string_view version) override { return next_.OnBookmark(version); }

 private:
  WatchSink<DaemonSet>& next_;
};

/// Holds patches to one node, and lists of its pods, from Hold until LetGo.
class HoldingFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;

  bool unobserved = false;
  absl::Status WatchDaemonSets(const CallContext& context, const WatchParams& params,
                               WatchSink<DaemonSet>& sink) override {
    if (lags && lags()) return absl::OkStatus();
    UnobservedSink altered(sink);
    return ForwardingFacade::WatchDaemonSets(context, params, unobserved ? altered : sink);
  }
  /// Called when a watch of the driver's objects or of pods starts. If it returns true, the watch ends immediately
  /// without events. Null: all watches run.
  std::function<bool()> lags = nullptr;
  absl::Status WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                        WatchSink<ControllerRevision>& sink) override {
    if (lags && lags()) return absl::OkStatus();
    return ForwardingFacade::WatchControllerRevisions(context, params, sink);
  }
  absl::Status WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) override {
    if (lags && lags()) return absl::OkStatus();
    return ForwardingFacade::WatchPods(context, params, sink);
  }

  void Hold(const std::string& node) {
    const std::lock_guard lock(mutex_);
    held_ = node;
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    held_.clear();
    let_go_.notify_all();
  }
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    {
      const std::lock_guard lock(mutex_);
      latest_patch_deadline_ = context.deadline;
    }
    Await(params.name);
    return ForwardingFacade::PatchNode(context, params);
  }
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override {
    if (!params.node_name.empty()) NoteDeadline(context);
    Await(params.node_name);
    auto pods = ForwardingFacade::ListPods(context, params);
    if (after_list) std::exchange(after_list, nullptr)();
    return pods;
  }
  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override {
    NoteDeadline(context);
    return ForwardingFacade::ListControllerRevisions(context, params);
  }

  /// Returns the latest deadline of any list call for a node's pods or for revisions.
  absl::Time latest_deadline() const {
    const std::lock_guard lock(mutex_);
    return latest_deadline_;
  }
  /// Returns the deadline of the last node patch.
  absl::Time latest_patch_deadline() const {
    const std::lock_guard lock(mutex_);
    return latest_patch_deadline_;
  }
  /// Called once, after the next pod list has been read from the cluster and before the engine receives the list.
  std::function<void()> after_list = nullptr;

 private:
  void NoteDeadline(const CallContext& context) {
    const std::lock_guard lock(mutex_);
    latest_deadline_ = std::max(latest_deadline_, context.deadline);
  }
  void Await(const std::string& node) {
    std::unique_lock lock(mutex_);
    let_go_.wait(lock, [&] { return held_.empty() || held_ != node; });
  }

  mutable std::mutex mutex_;
  std::condition_variable let_go_;
  std::string held_;
  absl::Time latest_deadline_ = absl::InfinitePast();
  absl::Time latest_patch_deadline_ = absl::InfinitePast();
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_HOLDING_FACADE_H_
