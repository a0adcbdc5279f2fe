// A rollout that takes as little time and as few requests as a cluster allows: the baseline for an upgrade engine.
//
// Each node is cordoned, its pods are evicted, its driver pod is deleted, and the node is uncordoned when the new pod
// is Ready. This takes two PATCHes, one eviction for each pod, one DELETE, and one watch on the pods for all nodes. The
// class has no policy, no budgets, no record of started work, and no preconditions on nodes. Never use it on an
// important cluster.
#ifndef DRIVERUPGRADE_BENCH_LIMIT_LIMIT_ROLLOUT_H_
#define DRIVERUPGRADE_BENCH_LIMIT_LIMIT_ROLLOUT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "limit/senders.h"

namespace driverupgrade::bench {

struct LimitOptions {
  // Namespace and labels of the driver's pods.
  std::string ns = {};
  LabelSelector driver_labels = {};
  // Number of nodes in progress; 0 means all nodes.
  std::size_t parallel = 0;
  absl::Time deadline = absl::InfiniteFuture();
};

// Upgrades the driver on every node that has a driver pod at the start, up to date or not.
class LimitRollout final : private WatchSink<Pod> {
 public:
  LimitRollout(std::shared_ptr<HttpTransport> transport, LimitOptions options);

  // Returns when every node is done, or with the first error. Call it only once.
  absl::Status Run();

  std::size_t nodes() const { return nodes_.size(); }

 private:
  enum class Stage : std::uint8_t { kWaiting, kCordoning, kEvicting, kReplacing, kUncordoning, kDone };
  struct NodeState {
    Stage stage = Stage::kWaiting;
    PodRef old_driver;
    std::map<std::string, Pod> pods;  // by UID
    std::set<std::string> evicted;    // UIDs
  };

  bool OnList(std::vector<Pod> pods, std::string_view resource_version) override;
  bool OnChange(Pod pod, std::string_view resource_version) override;
  bool OnDelete(Pod pod, std::string_view resource_version) override;
  bool OnBookmark(std::string_view resource_version) override;

  // The functions from here to Finish are called with mutex_ locked.
  bool IsDriver(const Pod& pod) const;
  void StartNodes();
  void Advance(const std::string& name);
  void Evacuate(NodeState& node);
  void Finish(const absl::Status& result);

  // The functions from here on send requests, and are called without mutex_ locked.
  void Cordon(const std::string& name);
  void Uncordon(const std::string& name);
  void Evict(const PodRef& pod);
  void DeleteDriver(const PodRef& pod);
  bool PatchNode(const std::string& name, std::string_view body);
  void Fail(const absl::Status& status);

  const std::shared_ptr<HttpTransport> transport_;
  const std::shared_ptr<ClusterFacade> cluster_;
  const LimitOptions options_;
  std::stop_source over_;
  const CallContext context_;

  std::string version_;  // version from which the watch continues; used only by the watch's thread
  std::mutex mutex_;
  std::map<std::string, NodeState> nodes_;
  std::deque<std::string> waiting_;
  std::size_t under_way_ = 0;
  absl::Status result_ = absl::OkStatus();

  Senders senders_;  // last: destroyed before the members that it uses
};

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_LIMIT_LIMIT_ROLLOUT_H_
