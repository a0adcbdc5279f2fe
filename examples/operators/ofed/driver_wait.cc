#include "ofed/driver_wait.h"

#include <algorithm>
#include <utility>

#include "driverupgrade/upgrade_state.h"

namespace ofed_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::DriverIdentity;
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

std::string ValueOf(const driverupgrade::StringMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

// The driver pod is being replaced, or is to be.
bool IsOnItsWay(const Node& node, const DriverIdentity& identity) {
  const auto state = driverupgrade::ParseUpgradeState(ValueOf(node.labels, identity.StateLabel()));
  return !state || driverupgrade::IsInProgress(*state);
}

}  // namespace

std::optional<bool> WaitsForDriver(const std::vector<Pod>& driver_pods) {
  if (driver_pods.empty()) return std::nullopt;
  return std::none_of(driver_pods.begin(), driver_pods.end(), IsLoaded);
}

std::optional<PatchNodeParams> WaitLabelPatch(const Node& node, const std::vector<Pod>& driver_pods, bool driver_wanted,
                                              const DriverIdentity& identity) {
  std::optional<std::string> value;
  if (const std::optional<bool> waits = WaitsForDriver(driver_pods)) {
    value = *waits ? "true" : "false";
  } else if (driver_wanted && IsOnItsWay(node, identity)) {
    return std::nullopt;
  } else if (!driver_wanted && ValueOf(node.labels, kNicLabel) == "true") {
    value = "false";
  }
  const auto label = node.labels.find(kDriverWaitLabel);
  const bool is_so = value ? label != node.labels.end() && label->second == *value : label == node.labels.end();
  if (is_so) return std::nullopt;
  return PatchNodeParams{.name = node.name,
                         .uid = node.uid,
                         .resource_version = node.resource_version,
                         .labels = {{kDriverWaitLabel, std::move(value)}}};
}

DriverWaitKeeper::DriverWaitKeeper(std::shared_ptr<driverupgrade::ClusterWriter> cluster, DriverIdentity identity,
                                   std::shared_ptr<driverupgrade::Clock> clock)
    : cluster_(std::move(cluster)), identity_(std::move(identity)), clock_(std::move(clock)) {}

void DriverWaitKeeper::Wish(bool driver_wanted) {
  if (std::exchange(driver_wanted_, driver_wanted) != driver_wanted) due_ = names_;
}

absl::Time DriverWaitKeeper::Keep(const CallContext& context, WatchCache& cache, std::size_t scope) {
  // Before, a node without pods may only be one whose pods have not been read.
  if (!cache.Synced()) return absl::InfiniteFuture();
  const std::set<std::string> changed = cache.Take(scope).nodes;
  names_.insert(changed.begin(), changed.end());
  due_.insert(changed.begin(), changed.end());
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
  if (!node) {
    names_.erase(name);
    return absl::OkStatus();
  }
  const auto patch = WaitLabelPatch(*node, cache.DriverPods(scope, name), driver_wanted_, identity_);
  if (!patch) return absl::OkStatus();
  absl::StatusOr<Node> written = cluster_->PatchNode(context, *patch);
  if (!written.ok()) return written.status();
  cache.NodeWritten(*std::move(written));
  return absl::OkStatus();
}

}  // namespace ofed_operator
