#include "ofed/driver_wait.h"

#include <algorithm>
#include <utility>

namespace ofed_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::Node;
using driverupgrade::PatchNodeParams;
using driverupgrade::Pod;
using driverupgrade::WatchCache;

constexpr absl::Duration kTryAgain = absl::Seconds(1);

bool IsLoaded(const Pod& pod) {
  return !pod.deletion_timestamp &&
         std::any_of(pod.container_statuses.begin(), pod.container_statuses.end(),
                     [](const auto& container) { return container.name == kDriverContainer && container.ready; });
}

}  // namespace

std::optional<bool> WaitsForDriver(const std::vector<Pod>& driver_pods) {
  if (driver_pods.empty()) return std::nullopt;
  return std::none_of(driver_pods.begin(), driver_pods.end(), IsLoaded);
}

std::optional<PatchNodeParams> WaitLabelPatch(const Node& node, const std::vector<Pod>& driver_pods) {
  const std::optional<bool> waits = WaitsForDriver(driver_pods);
  if (!waits) return std::nullopt;
  const std::string value = *waits ? "true" : "false";
  const auto label = node.labels.find(kDriverWaitLabel);
  if (label != node.labels.end() && label->second == value) return std::nullopt;
  return PatchNodeParams{.name = node.name,
                         .uid = node.uid,
                         .resource_version = node.resource_version,
                         .labels = {{kDriverWaitLabel, value}}};
}

DriverWaitKeeper::DriverWaitKeeper(std::shared_ptr<driverupgrade::ClusterWriter> cluster,
                                   std::shared_ptr<driverupgrade::Clock> clock)
    : cluster_(std::move(cluster)), clock_(std::move(clock)) {}

absl::Time DriverWaitKeeper::Keep(const CallContext& context, WatchCache& cache, std::size_t scope) {
  // Before, a node without pods may only be one whose pods have not been read.
  if (!cache.Synced()) return absl::InfiniteFuture();
  due_.merge(cache.Take(scope).nodes);
  status_ = absl::OkStatus();
  for (auto node = due_.begin(); node != due_.end();) {
    const absl::Status kept = KeepOne(context, cache, scope, *node);
    if (!kept.ok() && !absl::IsNotFound(kept)) {
      status_ = kept;
      ++node;
    } else {
      node = due_.erase(node);
    }
  }
  return due_.empty() ? absl::InfiniteFuture() : clock_->Now() + kTryAgain;
}

absl::Status DriverWaitKeeper::KeepOne(const CallContext& context, WatchCache& cache, std::size_t scope,
                                       const std::string& name) {
  const std::shared_ptr<const Node> node = cache.FindNode(name);
  if (!node) return absl::OkStatus();
  const std::optional<PatchNodeParams> patch = WaitLabelPatch(*node, cache.DriverPods(scope, name));
  if (!patch) return absl::OkStatus();
  absl::StatusOr<Node> written = cluster_->PatchNode(context, *patch);
  if (!written.ok()) return written.status();
  cache.NodeWritten(*std::move(written));
  return absl::OkStatus();
}

}  // namespace ofed_operator
