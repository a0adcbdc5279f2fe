#include "ofed/node_keeper.h"

#include <utility>

#include "ofed/driver_wait.h"

namespace ofed_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::Finding;
using driverupgrade::FindingCode;
using driverupgrade::Node;
using driverupgrade::Pod;
using driverupgrade::WatchCache;

constexpr absl::Duration kTryAgain = absl::Seconds(1);

}  // namespace

NodeKeeper::NodeKeeper(std::shared_ptr<driverupgrade::ClusterWriter> cluster, driverupgrade::DriverIdentity identity,
                       std::shared_ptr<driverupgrade::Clock> clock)
    : cluster_(std::move(cluster)), identity_(std::move(identity)), clock_(std::move(clock)) {}

void NodeKeeper::Wish(NodeWishes wishes) {
  if (wishes == wishes_) return;
  wishes_ = std::move(wishes);
  due_ = names_;
}

absl::Time NodeKeeper::Keep(const CallContext& context, WatchCache& cache, std::size_t scope) {
  // Until the cache is synced, a node without pods may be a node whose pods have not been read yet.
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

absl::Status NodeKeeper::KeepOne(const CallContext& context, WatchCache& cache, std::size_t scope,
                                 const std::string& name) {
  const std::shared_ptr<const Node> node = cache.FindNode(name);
  if (!node) {
    names_.erase(name);
    ownerless_.erase(name);
    return absl::OkStatus();
  }
  const std::vector<Pod> driver_pods = cache.DriverPods(scope, name);
  Note(*node, driver_pods);
  const auto patch = WaitLabelPatch(*node, driver_pods, wishes_.driver_wanted, identity_);
  if (!patch) return absl::OkStatus();
  absl::StatusOr<Node> written = cluster_->PatchNode(context, *patch);
  if (!written.ok()) return written.status();
  cache.NodeWritten(*std::move(written));
  return absl::OkStatus();
}

void NodeKeeper::Note(const Node& node, const std::vector<Pod>& driver_pods) {
  ownerless_.erase(node.name);
  if (!wishes_.owners) return;
  if (auto why = WhyOwnerless(node, driver_pods, *wishes_.owners)) ownerless_[node.name] = *std::move(why);
}

std::vector<Finding> NodeKeeper::Findings() const {
  std::vector<Finding> findings;
  for (const auto& [node, message] : ownerless_) {
    findings.push_back({.code = FindingCode::kNoOwner, .node = node, .message = message});
  }
  return findings;
}

}  // namespace ofed_operator
