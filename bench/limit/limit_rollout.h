// The least that a cluster allows: what an upgrade engine is measured against.
//
// Each node is cordoned, its pods are evicted, its driver pod is deleted, and when the new one is Ready the node is
// uncordoned: two PATCHes, one eviction for each pod, one DELETE, and one watch on the pods for all nodes. There is no
// policy, no budget, no memory of what was begun, and no precondition on a node: whoever uses this on a cluster that
// matters will regret it.
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
  // Where the driver's pods are, and what selects them.
  std::string ns = {};
  LabelSelector driver_labels = {};
  // Nodes at a time; 0 = all at once.
  std::size_t parallel = 0;
  absl::Time deadline = absl::InfiniteFuture();
};

// Rolls the driver on every node that has a pod of it when the rollout begins, up to date or not.
class LimitRollout final : private WatchSink<Pod> {
 public:
  LimitRollout(std::shared_ptr<HttpTransport> transport, LimitOptions options);

  // Returns when every node is done, or with the first error. Once only.
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

  // These are called with mutex_ held.
  bool IsDriver(const Pod& pod) const;
  void StartNodes();
  void Advance(const std::string& name);
  void Evacuate(NodeState& node);
  void Finish(const absl::Status& result);

  // These send, and are not.
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

  std::string version_;  // where the watch goes on; of its own thread
  std::mutex mutex_;
  std::map<std::string, NodeState> nodes_;
  std::deque<std::string> waiting_;
  std::size_t under_way_ = 0;
  absl::Status result_ = absl::OkStatus();

  Senders senders_;  // last: ended before what they use
};

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_LIMIT_LIMIT_ROLLOUT_H_
