#include "gpu/node_keeper.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace gpu_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::Finding;
using driverupgrade::FindingCode;
using driverupgrade::Node;
using driverupgrade::Pod;
using driverupgrade::WatchCache;

constexpr absl::Duration kTryAgain = absl::Seconds(1);
constexpr absl::Duration kListAgain = absl::Seconds(30);
// Maximum number of writes in one call of Keep, so that the engines can run and the Lease can be renewed in between.
constexpr int kWritesAtOnce = 50;

}  // namespace

NodeKeeper::NodeKeeper(std::shared_ptr<driverupgrade::ClusterFacade> cluster, driverupgrade::DriverIdentity identity,
                       bool writes, std::shared_ptr<driverupgrade::Clock> clock)
    : cluster_(std::move(cluster)), identity_(std::move(identity)), writes_(writes), clock_(std::move(clock)) {}

void NodeKeeper::Wish(NodeWishes wishes) {
  if (wishes == wishes_) return;
  wishes_ = std::move(wishes);
  due_ = names_;
  listed_ = false;
  settled_ = false;
  ownerless_.clear();
  conflicted_.clear();
}

absl::Time NodeKeeper::Keep(const CallContext& context, WatchCache* cache, std::size_t scope,
                            const std::function<void()>& on_change) {
  written_ = 0;
  if (std::exchange(cache_, cache) != cache) {
    names_.clear();
    due_.clear();
    settled_ = false;
    if (cache != nullptr) cache->Subscribe(scope, on_change);
  }
  if (cache == nullptr) return KeepByList(context);
  if (!cache->Synced()) return absl::InfiniteFuture();
  listed_ = false;
  const std::set<std::string> changed = cache->Take(scope).nodes;
  names_.insert(changed.begin(), changed.end());
  due_.insert(changed.begin(), changed.end());
  status_ = absl::OkStatus();
  for (auto name = due_.begin(); name != due_.end() && written_ < kWritesAtOnce;) {
    const std::shared_ptr<const Node> node = cache->FindNode(*name);
    if (!node) Forget(*name);
    const absl::Status kept = node ? KeepOne(context, *node, cache->DriverPods(scope, *name), cache) : absl::OkStatus();
    if (!kept.ok() && !absl::IsNotFound(kept)) {
      status_ = kept;
      ++name;
    } else {
      name = due_.erase(name);
    }
  }
  settled_ = due_.empty();
  if (settled_) return absl::InfiniteFuture();
  return status_.ok() ? clock_->Now() : clock_->Now() + kTryAgain;
}

absl::Time NodeKeeper::KeepByList(const CallContext& context) {
  if (!writes_) settled_ = true;
  if (listed_ || !writes_) return absl::InfiniteFuture();
  const auto nodes = cluster_->ListNodes(context, {.on_unreadable = driverupgrade::OnUnreadable::kMark});
  status_ = nodes.status();
  if (!nodes.ok()) return clock_->Now() + kListAgain;
  for (const Node& node : *nodes) {
    if (written_ >= kWritesAtOnce) return clock_->Now();
    const absl::Status kept = KeepOne(context, node, {}, nullptr);
    if (!kept.ok() && !absl::IsNotFound(kept)) status_ = kept;
  }
  settled_ = listed_ = status_.ok();
  return listed_ ? absl::InfiniteFuture() : clock_->Now() + kTryAgain;
}

absl::Status NodeKeeper::KeepOne(const CallContext& context, const Node& node, const std::vector<Pod>& pods,
                                 WatchCache* cache) {
  Note(node, !pods.empty());
  const auto patch = MarksPatch(node, Orphaned(pods), wishes_, identity_);
  if (!patch || !writes_) return absl::OkStatus();
  ++written_;
  absl::StatusOr<Node> written = cluster_->PatchNode(context, *patch);
  if (!written.ok()) return written.status();
  Note(*written, !pods.empty());
  if (cache != nullptr) cache->NodeWritten(*std::move(written));
  return absl::OkStatus();
}

void NodeKeeper::Note(const Node& node, bool has_driver) {
  ownerless_.erase(node.name);
  conflicted_.erase(node.name);
  if (!wishes_.by_owners) return;
  const auto gpu = node.labels.find(kGpuPresentLabel);
  std::vector<std::string> owners = OwnersOf(node, wishes_.owners);
  if (writes_ && owners.size() > 1 && gpu != node.labels.end() && gpu->second == "true") {
    conflicted_[node.name] = std::move(owners);
  }
  if (!has_driver) return;
  const auto label = node.labels.find(kOwnerLabel);
  const std::string owner = label == node.labels.end() ? "" : label->second;
  const bool known = std::any_of(wishes_.owners.begin(), wishes_.owners.end(),
                                 [&](const NvidiaDriver& driver) { return driver.name == owner; });
  if (known) return;
  ownerless_[node.name] = owner.empty() ? fmt::format("node {} has a driver pod and no label {}: it is not upgraded",
                                                      node.name, kOwnerLabel)
                                        : fmt::format(
                                              "node {} has a driver pod, but the NVIDIADriver {} of its label {} does "
                                              "not exist, so the driver is not upgraded",
                                              node.name, owner, kOwnerLabel);
}

void NodeKeeper::Forget(const std::string& node) {
  names_.erase(node);
  ownerless_.erase(node);
  conflicted_.erase(node);
}

std::vector<Finding> NodeKeeper::Findings() const {
  std::vector<Finding> findings;
  for (const auto& [node, message] : ownerless_) {
    findings.push_back({.code = FindingCode::kNoOwner, .node = node, .message = message});
  }
  return findings;
}

std::map<std::string, std::string> NodeKeeper::Conflicts() const {
  std::map<std::string, std::string> conflicts;
  for (const auto& [node, owners] : conflicted_) {
    for (const std::string& owner : owners) {
      const auto other = std::find_if(owners.begin(), owners.end(), [&](const auto& one) { return one != owner; });
      conflicts.emplace(owner,
                        fmt::format("node {} also belongs to NVIDIADriver {}, and keeps its owner", node, *other));
    }
  }
  return conflicts;
}

}  // namespace gpu_operator
