#include "maintenance_operator.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <regex>
#include <utility>

#include "json.h"
#include "support.h"

namespace driverupgrade::e2e {
namespace {

constexpr char kFinalizer[] = "maintenance.nvidia.com/finalizer";
constexpr char kInitiallyUnschedulable[] = "maintenance.nvidia.com/node-initial-state.unschedulable";

// Returns the index of the condition Ready, or -1 if the object does not have this condition yet.
int IndexOfReady(const rapidjson::Value& object) {
  int index = 0;
  for (const rapidjson::Value& condition : Items(object, {"status", "conditions"})) {
    if (Text(condition, {"type"}) == "Ready") return index;
    ++index;
  }
  return -1;
}

std::string ReasonOf(const rapidjson::Value& object) {
  for (const rapidjson::Value& condition : Items(object, {"status", "conditions"})) {
    if (Text(condition, {"type"}) == "Ready") return Text(condition, {"reason"});
  }
  return {};
}

bool HasFailed(const rapidjson::Value& object) {
  for (const rapidjson::Value& condition : Items(object, {"status", "conditions"})) {
    if (Text(condition, {"type"}) == "RequestorFailed") return Text(condition, {"status"}) == "True";
  }
  return false;
}

bool IsUnderWay(const rapidjson::Value& object) {
  const std::string reason = ReasonOf(object);
  return !reason.empty() && reason != "Pending";
}

bool IsDaemonSetPod(const rapidjson::Value& pod) {
  const auto owners = Items(pod, {"metadata", "ownerReferences"});
  return std::any_of(owners.begin(), owners.end(),
                     [](const rapidjson::Value& owner) { return Text(owner, {"kind"}) == "DaemonSet"; });
}

bool RequestsResource(const rapidjson::Value& pod, const std::regex& resource) {
  for (const rapidjson::Value& container : Items(pod, {"spec", "containers"})) {
    for (const auto& [name, _] : TextMap(container, {"resources", "requests"})) {
      if (std::regex_search(name, resource)) return true;
    }
  }
  return false;
}

// Returns whether one of the request's filters matches the pod. Without filters, every pod matches.
bool IsMeant(const rapidjson::Value& object, const rapidjson::Value& pod) {
  const auto filters = Items(object, {"spec", "drainSpec", "podEvictionFilters"});
  return filters.Empty() || std::any_of(filters.begin(), filters.end(), [&](const rapidjson::Value& filter) {
           return RequestsResource(pod, std::regex(Text(filter, {"byResourceNameRegex"})));
         });
}

std::string Now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[sizeof("2000-01-01T00:00:00Z")];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

MaintenanceOperator::MaintenanceOperator(ControlPlane& control_plane, std::string ns, int parallel_max)
    : kubectl_(control_plane.admin()),
      eviction_file_(control_plane.folder() / "maintenance-eviction.json"),
      ns_(std::move(ns)),
      parallel_max_(parallel_max) {
  control_plane.InstallNodeMaintenances();
}

void MaintenanceOperator::Step() {
  const rapidjson::Document list = kubectl_.Get({kNodeMaintenances, "--namespace=" + ns_});
  const auto objects = Items(list, {"items"});
  under_way_ = static_cast<int>(std::count_if(objects.begin(), objects.end(), IsUnderWay));
  for (const Object& object : objects) Advance(object);
}

void MaintenanceOperator::Advance(const Object& object) {
  const std::string reason = ReasonOf(object);
  if (Find(object, {"metadata", "deletionTimestamp"}) != nullptr) return GiveBack(object, reason);
  if (reason.empty()) return Adopt(object);
  if (reason == "Pending") return Schedule(object);
  if (reason == "Scheduled") return Accept(object);
  if (reason == "Cordon") return Cordon(object);
  if (reason == "WaitForPodCompletion") return WaitForPods(object);
  if (reason == "Draining") return Drain(object);
  ReportFailure(object);
}

// M0, M1
void MaintenanceOperator::Adopt(const Object& object) {
  const std::string node = Text(object, {"spec", "nodeName"});
  const std::string uid = Text(kubectl_.Get({"node", node}), {"metadata", "uid"});
  Patch(object, Substitute(R"({"metadata": {"ownerReferences": [
      {"apiVersion": "v1", "kind": "Node", "name": "$NODE", "uid": "$UID"}]}})",
                           {{"$NODE", node}, {"$UID", uid}}));
  SetReason(object, "Pending");
}

// M2
void MaintenanceOperator::Schedule(const Object& object) {
  if (under_way_ >= parallel_max_) return;
  ++under_way_;
  SetReason(object, "Scheduled");
}

// M3
void MaintenanceOperator::Accept(const Object& object) {
  Patch(object, Substitute(R"({"metadata": {"finalizers": ["$FINALIZER"]}})", {{"$FINALIZER", kFinalizer}}));
  SetReason(object, "Cordon");
}

// M4
void MaintenanceOperator::Cordon(const Object& object) {
  const std::string node = Text(object, {"spec", "nodeName"});
  if (Flag(object, {"spec", "cordon"})) {
    const bool unschedulable = Flag(kubectl_.Get({"node", node}), {"spec", "unschedulable"});
    if (TextMap(object, {"metadata", "annotations"}).count(kInitiallyUnschedulable) == 0) {
      Patch(object, Substitute(R"({"metadata": {"annotations": {"$KEY": "$VALUE"}}})",
                               {{"$KEY", kInitiallyUnschedulable}, {"$VALUE", unschedulable ? "true" : "false"}}));
    }
    kubectl_.Must({"cordon", node});
  }
  SetReason(object, "WaitForPodCompletion");
}

// M5
void MaintenanceOperator::WaitForPods(const Object& object) {
  if (Find(object, {"spec", "waitForPodCompletion"}) != nullptr) {
    const rapidjson::Document pods = PodsOf(object, Text(object, {"spec", "waitForPodCompletion", "podSelector"}));
    if (!Items(pods, {"items"}).Empty()) return;
  }
  SetReason(object, "Draining");
}

// M6
void MaintenanceOperator::Drain(const Object& object) {
  bool is_drained = true;
  if (Find(object, {"spec", "drainSpec"}) != nullptr) {
    const rapidjson::Document pods = PodsOf(object, Text(object, {"spec", "drainSpec", "podSelector"}));
    for (const Object& pod : Items(pods, {"items"})) {
      if (IsDaemonSetPod(pod) || !IsMeant(object, pod)) continue;
      is_drained = false;
      Evict(pod);
    }
  }
  if (is_drained) SetReason(object, "Ready");
}

// M7
void MaintenanceOperator::ReportFailure(const Object& object) {
  const std::string reason = HasFailed(object) ? "RequestorFailed" : "Ready";
  if (reason != ReasonOf(object)) SetReason(object, reason);
}

// M8, M9, M10
void MaintenanceOperator::GiveBack(const Object& object, const std::string& reason) {
  const bool is_in_use = !Items(object, {"spec", "additionalRequestors"}).Empty();
  if (is_in_use && (reason == "Ready" || reason == "RequestorFailed")) return;
  const auto annotations = TextMap(object, {"metadata", "annotations"});
  const auto initially = annotations.find(kInitiallyUnschedulable);
  if (initially != annotations.end() && initially->second == "false") {
    kubectl_.Must({"uncordon", Text(object, {"spec", "nodeName"})});
  }
  Patch(object, R"({"metadata": {"finalizers": null}})");
}

rapidjson::Document MaintenanceOperator::PodsOf(const Object& object, const std::string& selector) const {
  return kubectl_.Get({"pods", "--all-namespaces", "--selector=" + selector,
                       "--field-selector=spec.nodeName=" + Text(object, {"spec", "nodeName"})});
}

// Requests the eviction of the pod. If the request is refused, the next step repeats it.
void MaintenanceOperator::Evict(const Object& pod) {
  if (Find(pod, {"metadata", "deletionTimestamp"}) != nullptr) return;
  const std::string ns = Text(pod, {"metadata", "namespace"});
  const std::string name = Text(pod, {"metadata", "name"});
  WriteFile(eviction_file_, Substitute(R"({"apiVersion": "policy/v1", "kind": "Eviction",
      "metadata": {"namespace": "$NS", "name": "$NAME"}})",
                                       {{"$NS", ns}, {"$NAME", name}}));
  kubectl_.Run(
      {"create", "--raw", "/api/v1/namespaces/" + ns + "/pods/" + name + "/eviction", "-f", eviction_file_.string()});
}

// Sets the condition Ready, and keeps all other conditions, because they belong to the requestors.
void MaintenanceOperator::SetReason(const Object& object, const std::string& reason) {
  const std::string condition = Substitute(
      R"({"type": "Ready", "status": "$STATUS", "reason": "$REASON", "message": "", "lastTransitionTime": "$NOW"})",
      {{"$STATUS", reason == "Ready" ? "True" : "False"}, {"$REASON", reason}, {"$NOW", Now()}});
  const int index = IndexOfReady(object);
  const std::string patch =
      index < 0 ? Substitute(R"([{"op": "add", "path": "/status", "value": {"conditions": [$CONDITION]}}])",
                             {{"$CONDITION", condition}})
                : Substitute(R"([{"op": "replace", "path": "/status/conditions/$INDEX", "value": $CONDITION}])",
                             {{"$INDEX", std::to_string(index)}, {"$CONDITION", condition}});
  RunPatch(object, {"--type=json", "--patch=" + patch, "--subresource=status"});
}

void MaintenanceOperator::Patch(const Object& object, const std::string& patch) {
  RunPatch(object, {"--type=merge", "--patch=" + patch});
}

void MaintenanceOperator::RunPatch(const Object& object, const Kubectl::Arguments& what) {
  Kubectl::Arguments arguments = {"patch", kNodeMaintenances, Text(object, {"metadata", "name"}), "--namespace=" + ns_};
  arguments.insert(arguments.end(), what.begin(), what.end());
  kubectl_.Must(arguments);
}

}  // namespace driverupgrade::e2e
