#include "driverupgrade/cluster_types.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace driverupgrade {
namespace {

OwnerReference Owner(const std::string& api_version, const std::string& kind, bool controller) {
  return {.api_version = api_version, .kind = kind, .name = "owner", .uid = "uid", .controller = controller};
}

ContainerStatus Status(bool ready, int restart_count) {
  return {.name = "c", .ready = ready, .restart_count = restart_count};
}

TEST_CASE("a pod reference prints as namespace and name") {
  CHECK(PodRef{.ns = "gpu-operator", .name = "driver-x", .uid = "1"}.ToString() == "gpu-operator/driver-x");
}

TEST_CASE("a pod is finished if its phase is Succeeded or Failed") {
  CHECK(IsFinished({.phase = PodPhase::kSucceeded}));
  CHECK(IsFinished({.phase = PodPhase::kFailed}));
  CHECK_FALSE(IsFinished({.phase = PodPhase::kRunning}));
  CHECK_FALSE(IsFinished({.phase = PodPhase::kPending}));
  CHECK_FALSE(IsFinished({.phase = PodPhase::kUnknown}));
}

TEST_CASE("the controller of a pod is the owner whose reference is marked as the controller") {
  CHECK(ControllerOf({}) == nullptr);
  CHECK(ControllerOf({.owners = {Owner("apps/v1", "ReplicaSet", false)}}) == nullptr);
  const Pod pod{.owners = {Owner("v1", "ConfigMap", false), Owner("batch/v1", "Job", true)}};
  REQUIRE(ControllerOf(pod) != nullptr);
  CHECK(ControllerOf(pod)->kind == "Job");
}

struct DaemonSetRow {
  std::string name;
  std::vector<OwnerReference> owners;
  bool expected;
};

TEST_CASE("a pod is a DaemonSet pod only if an apps/v1 DaemonSet controls it") {
  const DaemonSetRow row = GENERATE(values<DaemonSetRow>({
      {"controlled", {Owner("apps/v1", "DaemonSet", true)}, true},
      {"no owner", {}, false},
      {"owned but not controlled", {Owner("apps/v1", "DaemonSet", false)}, false},
      {"another API group", {Owner("apps.kruise.io/v1alpha1", "DaemonSet", true)}, false},
      {"another version", {Owner("apps/v1beta2", "DaemonSet", true)}, false},
      {"static pod of a node", {Owner("v1", "Node", true)}, false},
  }));
  CAPTURE(row.name);
  CHECK(IsDaemonSetPod({.owners = row.owners}) == row.expected);
}

struct ReadyRow {
  std::string name;
  PodPhase phase;
  std::vector<ContainerStatus> statuses;
  bool expected;
};

TEST_CASE("a pod is ready if it is running and all its containers are ready") {
  const ReadyRow row = GENERATE(values<ReadyRow>({
      {"running, all ready", PodPhase::kRunning, {Status(true, 3), Status(true, 0)}, true},
      {"one not ready", PodPhase::kRunning, {Status(true, 0), Status(false, 0)}, false},
      {"no container status yet", PodPhase::kRunning, {}, false},
      {"pending", PodPhase::kPending, {Status(true, 0)}, false},
      {"succeeded", PodPhase::kSucceeded, {Status(true, 0)}, false},
  }));
  CAPTURE(row.name);
  CHECK(IsReady({.phase = row.phase, .container_statuses = row.statuses}) == row.expected);
}

TEST_CASE("an init container that is not ready does not affect the readiness of its pod") {
  CHECK(IsReady({.phase = PodPhase::kRunning,
                 .init_container_statuses = {Status(false, 0)},
                 .container_statuses = {Status(true, 0)}}));
}

TEST_CASE("a pod is failing if a container that is not ready has restarted more often than allowed") {
  CHECK_FALSE(IsFailing({}, 10));
  CHECK_FALSE(IsFailing({.container_statuses = {Status(false, 10)}}, 10));
  CHECK(IsFailing({.container_statuses = {Status(true, 0), Status(false, 11)}}, 10));
  CHECK_FALSE(IsFailing({.container_statuses = {Status(true, 11)}}, 10));
  CHECK(IsFailing({.init_container_statuses = {Status(false, 11)}}, 10));
  CHECK(IsFailing({.container_statuses = {Status(false, 1)}}, 0));
}

TEST_CASE("W8: a pod is starting until one of its containers has started or restarted, or cannot pull its image") {
  Pod pod{.phase = PodPhase::kPending, .container_statuses = {{.name = "c", .started = false}}};
  CHECK(IsStarting(pod));
  pod.phase = PodPhase::kRunning;
  CHECK(IsStarting(pod));
  pod.container_statuses[0].started = true;
  CHECK_FALSE(IsStarting(pod));
  pod.container_statuses[0] = {.name = "c", .restart_count = 1, .started = false};
  CHECK_FALSE(IsStarting(pod));
  pod.container_statuses[0] = {.name = "c", .started = false, .image_pull_fails = true};
  CHECK_FALSE(IsStarting(pod));
  pod.container_statuses[0] = {.name = "c", .started = false};
  pod.init_container_statuses = {{.name = "i", .restart_count = 1, .started = false}};
  CHECK_FALSE(IsStarting(pod));
}

TEST_CASE("W5: a pod belongs to the node that it is bound to or, if unbound, to the node that its affinity names") {
  CHECK(NodeOf(Pod{.node_name = "a", .affinity_node_name = "b"}) == "a");
  CHECK(NodeOf(Pod{.affinity_node_name = "b"}) == "b");
  CHECK(NodeOf(Pod{}).empty());
}

TEST_CASE("the revision hash of a pod is the value of its label controller-revision-hash") {
  CHECK(RevisionHash({.labels = {{"controller-revision-hash", "7d9f"}}}) == "7d9f");
  CHECK(RevisionHash({.labels = {{"app", "driver"}}}) == "");
}

}  // namespace
}  // namespace driverupgrade
