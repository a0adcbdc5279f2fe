#include "limit/limit_rollout.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "fmt/format.h"

namespace driverupgrade::bench {
namespace {

// More calls in flight would not help: an API server on two cores would not serve more requests per second, and each
// additional connection must be established first.
constexpr int kSenders = 8;
constexpr absl::Duration kEvictionRetry = absl::Milliseconds(200);

// Any engine must record what it has started, so this program also sets a label. The label costs no additional request,
// because it is part of the cordon's PATCH. The program uses the state label of gpu_operator, because
// deploy/rbac/admission does not allow changes to other labels.
constexpr std::string_view kCordon =
    R"({"metadata":{"labels":{"nvidia.com/gpu-driver-upgrade-state":"drain-required"}},"spec":{"unschedulable":true}})";
constexpr std::string_view kUncordon =
    R"({"metadata":{"labels":{"nvidia.com/gpu-driver-upgrade-state":null}},"spec":{"unschedulable":null}})";

}  // namespace

LimitRollout::LimitRollout(std::shared_ptr<HttpTransport> transport, LimitOptions options)
    : transport_(std::move(transport)),
      cluster_(MakeRestCluster(transport_, {.field_manager = "rollout_limit"})),
      options_(std::move(options)),
      context_({.deadline = options_.deadline, .stop = over_.get_token()}),
      senders_(kSenders) {}

absl::Status LimitRollout::Run() {
  // A server may end a watch at any time (api-A15).
  while (true) {
    const absl::Status watched =
        cluster_->WatchPods(context_, {.resource_version = version_, .timeout = absl::Hours(1)}, *this);
    const std::lock_guard lock(mutex_);
    if (over_.stop_requested()) return result_;
    if (!watched.ok()) return watched;
  }
}

bool LimitRollout::OnList(std::vector<Pod> pods, std::string_view version) {
  version_ = version;
  const std::lock_guard lock(mutex_);
  for (Pod& pod : pods) {
    if (pod.node_name.empty()) continue;
    NodeState& node = nodes_[pod.node_name];
    if (IsDriver(pod)) node.old_driver = pod.ref;
    node.pods.emplace(pod.ref.uid, std::move(pod));
  }
  std::erase_if(nodes_, [](const auto& node) { return node.second.old_driver.uid.empty(); });
  for (const auto& [name, _] : nodes_) waiting_.push_back(name);
  if (nodes_.empty()) Finish(absl::NotFoundError("no node has a driver pod"));
  StartNodes();
  return !over_.stop_requested();
}

bool LimitRollout::OnChange(Pod pod, std::string_view version) {
  version_ = version;
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(pod.node_name);
  if (node == nodes_.end()) return true;
  node->second.pods.insert_or_assign(pod.ref.uid, std::move(pod));
  Advance(node->first);
  return true;
}

bool LimitRollout::OnDelete(Pod pod, std::string_view version) {
  version_ = version;
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(pod.node_name);
  if (node == nodes_.end()) return true;
  node->second.pods.erase(pod.ref.uid);
  Advance(node->first);
  return true;
}

bool LimitRollout::OnBookmark(std::string_view version) {
  version_ = version;
  return true;
}

bool LimitRollout::IsDriver(const Pod& pod) const {
  return pod.ref.ns == options_.ns && options_.driver_labels.Matches(pod.labels);
}

void LimitRollout::StartNodes() {
  while (!waiting_.empty() && (options_.parallel == 0 || under_way_ < options_.parallel)) {
    const std::string name = std::move(waiting_.front());
    waiting_.pop_front();
    ++under_way_;
    nodes_[name].stage = Stage::kCordoning;
    senders_.Post([this, name] { Cordon(name); });
  }
}

void LimitRollout::Advance(const std::string& name) {
  NodeState& node = nodes_[name];
  if (node.stage == Stage::kEvicting) Evacuate(node);
  if (node.stage != Stage::kReplacing) return;
  const bool is_ready = std::any_of(node.pods.begin(), node.pods.end(), [&](const auto& entry) {
    return IsDriver(entry.second) && entry.first != node.old_driver.uid && IsReady(entry.second);
  });
  if (!is_ready) return;
  node.stage = Stage::kUncordoning;
  senders_.Post([this, name] { Uncordon(name); });
}

void LimitRollout::Evacuate(NodeState& node) {
  bool is_empty = true;
  for (const auto& [uid, pod] : node.pods) {
    if (IsDriver(pod) || IsDaemonSetPod(pod) || IsFinished(pod)) continue;
    is_empty = false;
    if (pod.deletion_timestamp.has_value() || !node.evicted.insert(uid).second) continue;
    senders_.Post([this, ref = pod.ref] { Evict(ref); });
  }
  if (!is_empty) return;
  node.stage = Stage::kReplacing;
  senders_.Post([this, ref = node.old_driver] { DeleteDriver(ref); });
}

void LimitRollout::Finish(const absl::Status& result) {
  if (over_.stop_requested()) return;
  result_ = result;
  over_.request_stop();
}

void LimitRollout::Cordon(const std::string& name) {
  if (!PatchNode(name, kCordon)) return;
  const std::lock_guard lock(mutex_);
  nodes_[name].stage = Stage::kEvicting;
  Advance(name);
}

void LimitRollout::Uncordon(const std::string& name) {
  if (!PatchNode(name, kUncordon)) return;
  const std::lock_guard lock(mutex_);
  nodes_[name].stage = Stage::kDone;
  --under_way_;
  StartNodes();
  if (under_way_ == 0) Finish(absl::OkStatus());
}

void LimitRollout::Evict(const PodRef& pod) {
  while (!over_.stop_requested()) {
    const absl::StatusOr<EvictionAnswer> answer = cluster_->EvictPod(context_, {.pod = pod});
    if (!answer.ok()) return Fail(answer.status());
    if (answer->accepted() || answer->gone) return;
    absl::SleepFor(kEvictionRetry);
  }
}

void LimitRollout::DeleteDriver(const PodRef& pod) {
  if (const absl::Status deleted = cluster_->DeletePod(context_, {.pod = pod}); !deleted.ok()) Fail(deleted);
}

// Does not use the facade, because the facade requires a precondition. A controller taints a cordoned node, so the
// second PATCH would find a newer version than the first PATCH produced.
bool LimitRollout::PatchNode(const std::string& name, std::string_view body) {
  const absl::StatusOr<HttpResponse> answer =
      transport_->Send(context_, {.verb = HttpVerb::kPatch,
                                  .path = "/api/v1/nodes/" + name,
                                  .content_type = "application/merge-patch+json",
                                  .body = std::string(body)});
  if (!answer.ok()) {
    Fail(answer.status());
  } else if (answer->status != 200) {
    Fail(absl::UnknownError(fmt::format("patch node {}: {}: {}", name, answer->status, answer->body)));
  }
  return answer.ok() && answer->status == 200;
}

void LimitRollout::Fail(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  Finish(status);
}

}  // namespace driverupgrade::bench
