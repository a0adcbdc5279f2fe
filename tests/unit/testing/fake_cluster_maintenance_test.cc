#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::Actor;
using testing::Call;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;
using testing::MaintenanceOperatorOptions;
using testing::NodeBuilder;
using testing::PodBuilder;

const std::string kName = "nvidia-operator-n1";

// One node, and a client that requests its maintenance.
struct World {
  World() { node = cluster.AddNode(NodeBuilder("n1").Build()); }

  NodeMaintenance Request(const std::string& node_name = "n1") const {
    return {.ns = "default",
            .name = "nvidia-operator-" + node_name,
            .requestor_id = "nvidia.gpu.operator",
            .node_name = node_name};
  }
  NodeMaintenance Create(const NodeMaintenance& object) {
    absl::StatusOr<NodeMaintenance> created = cluster.CreateNodeMaintenance(context, {.object = object});
    REQUIRE(created.ok());
    return *created;
  }
  // Returns the object, which must exist.
  NodeMaintenance Object(const std::string& name = kName) {
    const auto object = cluster.node_maintenance("default", name);
    REQUIRE(object.has_value());
    return *object;
  }
  bool Exists(const std::string& name = kName) { return cluster.node_maintenance("default", name).has_value(); }
  // Returns the reason in the object's condition Ready, or an empty string if the object does not have this condition.
  std::string State(const std::string& name = kName) {
    for (const Condition& condition : Object(name).conditions) {
      if (condition.type == "Ready") return condition.reason;
    }
    return "";
  }
  bool Cordoned(const std::string& node_name = "n1") { return cluster.node(node_name)->unschedulable; }
  void Advance(int seconds) { cluster.Advance(absl::Seconds(seconds)); }
  void Delete(const std::string& name = kName) {
    const NodeMaintenance object = Object(name);
    REQUIRE(cluster.DeleteNodeMaintenance(context, {object.ns, object.name, object.uid}).ok());
  }
  PatchNodeMaintenanceParams Patch(const std::string& name = kName) {
    const NodeMaintenance object = Object(name);
    return {.ns = object.ns, .name = object.name, .uid = object.uid, .resource_version = object.resource_version};
  }
  void SetRequestors(std::vector<std::string> requestors) {
    PatchNodeMaintenanceParams patch = Patch();
    patch.additional_requestors = std::move(requestors);
    REQUIRE(cluster.PatchNodeMaintenance(context, patch).ok());
  }
  void SetFailed(const std::string& status) {
    PatchNodeMaintenanceParams patch = Patch();
    patch.conditions = Object().conditions;
    std::erase_if(*patch.conditions, [](const Condition& condition) { return condition.type == "RequestorFailed"; });
    patch.conditions->push_back({.type = "RequestorFailed", .status = status, .reason = "FailedMaintenance"});
    REQUIRE(cluster.PatchNodeMaintenance(context, patch).ok());
  }
  // Adds an object in the given state.
  void AddIn(const std::string& state, const std::vector<std::string>& additional = {}) {
    NodeMaintenance object = Request();
    object.additional_requestors = additional;
    object.conditions = {{.type = "Ready", .status = state == "Ready" ? "True" : "False", .reason = state}};
    cluster.AddNodeMaintenance(object);
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster{clock};
  CallContext context = {};
  Node node = {};
};

TEST_CASE("without a maintenance operator a NodeMaintenance stays unchanged, and is deleted immediately") {
  World world;
  const NodeMaintenance created = world.Create(world.Request());
  CHECK_FALSE(created.uid.empty());
  CHECK_FALSE(created.resource_version.empty());
  world.Advance(3600);
  CHECK(world.Object() == created);
  CHECK(world.cluster.NextEventTime() == absl::InfiniteFuture());
  CHECK(world.cluster.node_maintenances() == std::vector{created});
  world.Delete();
  CHECK_FALSE(world.Exists());
}

TEST_CASE("a NodeMaintenance is created from namespace, name, and spec only, and is checked against the schema") {
  World world;
  NodeMaintenance object = world.Request();
  object.uid = "mine";
  object.node_uid = "mine";
  object.conditions = {{.type = "Ready", .status = "True", .reason = "Ready"}};
  object.deletion_timestamp = absl::UnixEpoch();
  const NodeMaintenance created = world.Create(object);
  CHECK(created.uid != "mine");
  CHECK(created.node_uid.empty());
  CHECK(created.conditions.empty());
  CHECK_FALSE(created.deletion_timestamp.has_value());
  CHECK(absl::IsAlreadyExists(world.cluster.CreateNodeMaintenance(world.context, {.object = object}).status()));
  world.cluster.TerminateNamespace("gone");
  const auto code_of = [&](auto edit) {
    NodeMaintenance wrong = world.Request("n2");
    edit(wrong);
    return world.cluster.CreateNodeMaintenance(world.context, {.object = wrong}).status().code();
  };
  using Object = NodeMaintenance;
  CHECK(code_of([](Object& one) { one.requestor_id = "x"; }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](Object& one) { one.requestor_id = "a_b"; }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](Object& one) { one.requestor_id = std::string(64, 'a'); }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](Object& one) { one.additional_requestors = {"a", "a"}; }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](Object& one) { one.name = ""; }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](Object& one) { one.ns = "gone"; }) == absl::StatusCode::kPermissionDenied);
  CHECK(code_of([](Object&) {}) == absl::StatusCode::kOk);
}

TEST_CASE("a patch of a NodeMaintenance has at most one list, and requires the version and UID (api-A24)") {
  World world;
  world.Create(world.Request());
  const PatchNodeMaintenanceParams stale = world.Patch();
  world.SetRequestors({"nvidia.network.operator"});
  CHECK(world.Object().additional_requestors == std::vector<std::string>{"nvidia.network.operator"});
  const auto code_of = [&](auto edit) {
    PatchNodeMaintenanceParams patch = world.Patch();
    edit(patch);
    return world.cluster.PatchNodeMaintenance(world.context, patch).status().code();
  };
  using Params = PatchNodeMaintenanceParams;
  const NodeMaintenance before = world.Object();
  CHECK(code_of([&](Params& patch) {
          patch.resource_version = stale.resource_version;
          patch.additional_requestors = {{"x"}};
        }) == absl::StatusCode::kAborted);
  CHECK(code_of([](Params& patch) {
          patch.uid = "other";
          patch.additional_requestors = {{"x"}};
        }) == absl::StatusCode::kAborted);
  CHECK(code_of([](Params&) {}) == absl::StatusCode::kOk);
  CHECK(code_of([&](Params& patch) { patch.resource_version = stale.resource_version; }) == absl::StatusCode::kAborted);
  CHECK(code_of([](Params& patch) {
          patch.additional_requestors = std::vector<std::string>();
          patch.conditions = std::vector<Condition>();
        }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](Params& patch) {
          patch.additional_requestors = {{"a", "a"}};
        }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](Params& patch) {
          patch.conditions = {{{.type = "A"}, {.type = "A"}}};
        }) == absl::StatusCode::kInvalidArgument);
  CHECK(code_of([](Params& patch) {
          patch.name = "none";
          patch.conditions = std::vector<Condition>();
        }) == absl::StatusCode::kNotFound);
  CHECK(world.Object() == before);
  // A write that changes nothing keeps the version.
  world.SetRequestors({"nvidia.network.operator"});
  CHECK(world.Object() == before);
}

TEST_CASE("a deletion with the UID of another object does not delete the object") {
  World world;
  world.Create(world.Request());
  CHECK(world.cluster.DeleteNodeMaintenance(world.context, {"default", kName, "other"}).ok());
  CHECK(world.cluster.DeleteNodeMaintenance(world.context, {"default", "none", "u"}).ok());
  CHECK(absl::IsInvalidArgument(world.cluster.DeleteNodeMaintenance(world.context, {"default", kName, ""})));
  CHECK_FALSE(world.Object().deletion_timestamp.has_value());
}

TEST_CASE("operations for NodeMaintenances can be made to fail, and are recorded in the journal") {
  World world;
  world.cluster.FailNextAfterApplying(Operation::kCreateNodeMaintenance, absl::UnavailableError("lost"));
  CHECK(absl::IsUnavailable(world.cluster.CreateNodeMaintenance(world.context, {.object = world.Request()}).status()));
  CHECK(world.Exists());
  world.cluster.FailNext(Operation::kGetNodeMaintenance, absl::UnavailableError("1"));
  world.cluster.FailNext(Operation::kListNodeMaintenances, absl::UnavailableError("2"));
  world.cluster.FailNext(Operation::kPatchNodeMaintenance, absl::UnavailableError("3"));
  world.cluster.FailNext(Operation::kDeleteNodeMaintenance, absl::UnavailableError("4"));
  PatchNodeMaintenanceParams patch = world.Patch();
  patch.additional_requestors = {{"a", "b"}};
  CHECK_FALSE(world.cluster.GetNodeMaintenance(world.context, {"default", kName}).ok());
  CHECK_FALSE(world.cluster.ListNodeMaintenances(world.context, {}).ok());
  CHECK_FALSE(world.cluster.PatchNodeMaintenance(world.context, patch).ok());
  CHECK_FALSE(world.cluster.DeleteNodeMaintenance(world.context, {"default", kName, patch.uid}).ok());
  CHECK(world.Object().additional_requestors.empty());
  CHECK(world.cluster.GetNodeMaintenance(world.context, {"default", kName}).value() == world.Object());
  CHECK(world.cluster.ListNodeMaintenances(world.context, {.ns = "other"})->empty());
  const std::vector<Call> journal = world.cluster.journal();
  CHECK(journal[0].object == "default/" + kName);
  CHECK(journal[0].parameters == "node=n1 requestor=nvidia.gpu.operator");
  CHECK(journal[3].parameters == "resourceVersion=1002 additionalRequestors=a,b");
  CHECK(journal[4].parameters == "uid=" + patch.uid);
  world.cluster.SetSupported(Operation::kListNodeMaintenances, false);
  CHECK(absl::IsUnimplemented(world.cluster.ListNodeMaintenances(world.context, {}).status()));
}

TEST_CASE("the operator moves an object from state to state, one step at a time") {
  World world;
  std::vector<std::string> seen;
  world.cluster.SetChangeObserver([&](const Change& change) {
    if (change.node.after != nullptr) seen.push_back(change.node.after->unschedulable ? "cordon" : "uncordon");
    if (change.node_maintenance.after == nullptr) return;
    CHECK((change.actor == Actor::kClient) == (change.node_maintenance.before == nullptr));
    for (const Condition& condition : change.node_maintenance.after->conditions) {
      const std::string text = condition.reason + " " + condition.status;
      if (seen.empty() || seen.back() != text) seen.push_back(text);
    }
  });
  world.cluster.RunMaintenanceOperator();
  world.Create(world.Request());
  CHECK(world.State().empty());
  world.Advance(7);
  CHECK(seen == std::vector<std::string>{"Pending False", "Scheduled False", "Cordon False", "cordon",
                                         "WaitForPodCompletion False", "Draining False", "Ready True"});
  CHECK(world.Object().conditions.size() == 1);
  CHECK(world.Object().conditions[0].last_transition_time == FakeClock::DefaultStart() + absl::Seconds(6));
  const NodeMaintenance ready = world.Object();
  CHECK(world.cluster.NextEventTime() == absl::InfiniteFuture());
  world.Advance(3600);
  CHECK(world.Object() == ready);
}

TEST_CASE("the delay of a step can be set, and the operator also processes existing objects") {
  World world;
  world.Create(world.Request());
  world.cluster.RunMaintenanceOperator({.step_delay = absl::Minutes(1)});
  world.Advance(59);
  CHECK(world.State().empty());
  world.Advance(1);
  CHECK(world.State() == "Pending");
  world.cluster.StopMaintenanceOperator();
  world.Advance(3600);
  CHECK(world.State() == "Pending");
  world.cluster.RunMaintenanceOperator({.step_delay = absl::ZeroDuration()});
  world.cluster.Settle();
  CHECK(world.State() == "Ready");
}

TEST_CASE("M0: an object gets the UID of its node once the operator has processed it") {
  World world;
  world.cluster.RunMaintenanceOperator();
  world.Create(world.Request());
  CHECK(world.Object().node_uid.empty());
  world.Advance(1);
  CHECK(world.Object().node_uid == world.node.uid);
}

TEST_CASE("M0: an object whose node was deleted loses its finalizer and is deleted with the node") {
  World world;
  world.cluster.RunMaintenanceOperator();
  world.Create(world.Request());
  world.Advance(10);
  REQUIRE(world.State() == "Ready");
  world.SetRequestors({"nvidia.network.operator"});
  world.cluster.RemoveNode("n1");
  CHECK(world.Object().deletion_timestamp.has_value());
  world.Advance(1);
  CHECK_FALSE(world.Exists());
}

TEST_CASE("M0: an object for a node that never existed waits indefinitely") {
  World world;
  world.cluster.RunMaintenanceOperator();
  world.Create(world.Request("n9"));
  world.Advance(60);
  CHECK(world.State("nvidia-operator-n9").empty());
  world.Delete("nvidia-operator-n9");
  CHECK_FALSE(world.Exists("nvidia-operator-n9"));
}

TEST_CASE("M1: a Pending object has no finalizer, so its deletion is immediate") {
  World world;
  world.cluster.RunMaintenanceOperator({.parallel = 0});
  world.Create(world.Request());
  world.Advance(60);
  CHECK(world.State() == "Pending");
  world.Delete();
  CHECK_FALSE(world.Exists());
}

TEST_CASE("M2: no more nodes than allowed are past Pending, and the oldest objects come first") {
  World world;
  world.cluster.AddNode(NodeBuilder("n2").Build());
  world.cluster.AddNode(NodeBuilder("n3").Build());
  world.cluster.RunMaintenanceOperator({.parallel = 1});
  for (const char* name : {"n3", "n1", "n2"}) world.Create(world.Request(name));
  world.Advance(60);
  CHECK(world.State("nvidia-operator-n3") == "Ready");
  CHECK(world.State("nvidia-operator-n1") == "Pending");
  CHECK(world.State("nvidia-operator-n2") == "Pending");
  world.Delete("nvidia-operator-n3");
  world.Advance(60);
  CHECK(world.State("nvidia-operator-n1") == "Ready");
  CHECK(world.State("nvidia-operator-n2") == "Pending");
}

TEST_CASE("M2: a node has at most one object past Pending at a time") {
  World world;
  world.cluster.RunMaintenanceOperator();
  world.Create(world.Request());
  NodeMaintenance other = world.Request();
  other.name = "nic-n1";
  world.Create(other);
  world.Advance(60);
  CHECK(world.State() == "Ready");
  CHECK(world.State("nic-n1") == "Pending");
  world.Delete();
  world.Advance(60);
  CHECK_FALSE(world.Exists());
  CHECK(world.State("nic-n1") == "Ready");
}

TEST_CASE("M3: from Scheduled on, a finalizer delays the deletion of the object") {
  World world;
  world.cluster.RunMaintenanceOperator();
  world.Create(world.Request());
  world.Advance(3);
  REQUIRE(world.State() == "Cordon");
  CHECK_FALSE(world.Cordoned());
  world.Delete();
  CHECK(world.Object().deletion_timestamp == world.clock->Now());
  world.Advance(1);
  CHECK_FALSE(world.Exists());
}

TEST_CASE("M4: a node stays unchanged if it is already cordoned, or if the object requests no cordon") {
  World world;
  const bool cordoned = GENERATE(false, true);
  if (cordoned) world.cluster.Cordon("n1");
  const Node before = *world.cluster.node("n1");
  world.cluster.RunMaintenanceOperator();
  NodeMaintenance object = world.Request();
  object.cordon = cordoned;
  world.Create(object);
  world.Advance(60);
  CHECK(world.State() == "Ready");
  world.Delete();
  world.Advance(60);
  CHECK_FALSE(world.Exists());
  CHECK(world.cluster.node("n1") == before);
}

TEST_CASE("M5: the operator waits until matching pods have terminated, whatever their phase") {
  World world;
  world.cluster.AddPod(PodBuilder("a", "job").OnNode("n1").WithLabel("app", "job").Succeeded().Build());
  world.cluster.AddPod(PodBuilder("a", "other").OnNode("n1").Build());
  world.cluster.RunMaintenanceOperator();
  NodeMaintenance object = world.Request();
  object.wait_for_pod_completion = MaintenanceWait{.pod_selector = "app=job"};
  world.Create(object);
  world.Advance(3600);
  CHECK(world.State() == "WaitForPodCompletion");
  world.cluster.RemovePod("a", "job");
  world.Advance(15);
  CHECK(world.State() == "Ready");
}

TEST_CASE("M5: an empty selector matches every pod, and only a timeout ends the wait") {
  World world;
  world.cluster.AddDaemonSet({.ns = "gpu", .name = "driver"});
  world.cluster.RunMaintenanceOperator();
  NodeMaintenance object = world.Request();
  object.wait_for_pod_completion = MaintenanceWait{.timeout = absl::Minutes(5)};
  world.Create(object);
  world.Advance(300);
  CHECK(world.State() == "WaitForPodCompletion");
  world.Advance(20);
  CHECK(world.State() == "Ready");
}

// Adds to n1 one pod of each kind that a drain distinguishes.
void AddPodsOfAllKinds(FakeCluster& cluster) {
  cluster.AddDaemonSet({.ns = "gpu", .name = "driver"});
  cluster.AddPod(PodBuilder("a", "mirror").OnNode("n1").Mirror().Build());
  cluster.AddPod(PodBuilder("a", "gpu-job").OnNode("n1").OwnedByJob("j").WithResource("nvidia.com/gpu").Build());
  cluster.AddPod(PodBuilder("a", "cpu-job").OnNode("n1").OwnedByJob("j").WithResource("cpu").Build());
  cluster.AddPod(PodBuilder("a", "kept").OnNode("n1").OwnedByJob("j").WithLabel("skip", "true").Build());
  cluster.AddPod(PodBuilder("a", "operator")
                     .OnNode("n1")
                     .OwnedByJob("j")
                     .WithLabel("app.kubernetes.io/component", "maintenance-operator-controller-manager")
                     .Build());
}

std::vector<std::string> PodsIn(const FakeCluster& cluster, const std::string& ns) {
  std::vector<std::string> names;
  for (const Pod& pod : cluster.pods()) {
    if (pod.ref.ns == ns) names.push_back(pod.ref.name);
  }
  return names;
}

TEST_CASE(
    "M6: a drain evicts the pods that its selector matches, except DaemonSet pods, static pods, and the operator's "
    "pod") {
  World world;
  AddPodsOfAllKinds(world.cluster);
  world.cluster.RunMaintenanceOperator();
  NodeMaintenance object = world.Request();
  object.drain = MaintenanceDrain{.pod_selector = "skip!=true"};
  world.Create(object);
  world.Advance(60);
  CHECK(world.State() == "Ready");
  CHECK(PodsIn(world.cluster, "a") == std::vector<std::string>{"kept", "mirror", "operator"});
  CHECK(PodsIn(world.cluster, "gpu").size() == 1);
  CHECK(world.cluster.CallCount(Operation::kEvictPod) == 0);
}

TEST_CASE("M6: an eviction filter selects pods by resource, and may match any part of the resource name") {
  World world;
  AddPodsOfAllKinds(world.cluster);
  world.cluster.RunMaintenanceOperator();
  NodeMaintenance object = world.Request();
  object.drain = MaintenanceDrain{.resource_name_filters = {"(", "com/g[op]u"}};
  world.Create(object);
  world.Advance(60);
  CHECK(world.State() == "Ready");
  CHECK(PodsIn(world.cluster, "a") == std::vector<std::string>{"cpu-job", "kept", "mirror", "operator"});
}

TEST_CASE("M6: a pod that must not be deleted prevents the drain") {
  World world;
  const bool bare = GENERATE(false, true);
  PodBuilder builder("a", "bad");
  builder.OnNode("n1");
  if (bare) {
    world.cluster.AddPod(builder.Build());
  } else {
    world.cluster.AddPod(builder.OwnedByReplicaSet("bad").WithEmptyDir().Build());
  }
  world.cluster.AddPod(PodBuilder("a", "good").OnNode("n1").OwnedByJob("j").Build());
  world.cluster.RunMaintenanceOperator();
  NodeMaintenance object = world.Request();
  object.drain = MaintenanceDrain{.force = !bare, .delete_empty_dir = bare};
  world.Create(object);
  world.Advance(3600);
  CHECK(world.State() == "Draining");
  CHECK_FALSE(world.cluster.pod("a", "good")->deletion_timestamp.has_value());
  world.Delete();
  world.Advance(1);
  object.drain = MaintenanceDrain{.force = true, .delete_empty_dir = true};
  world.Create(object);
  world.Advance(60);
  CHECK(world.State() == "Ready");
  CHECK_FALSE(world.cluster.pod("a", "bad").has_value());
}

TEST_CASE("M6: disruption budgets block a drain, and a timeout only restarts it") {
  World world;
  world.cluster.AddPod(PodBuilder("a", "web").OnNode("n1").OwnedByReplicaSet("web").Build(),
                       {.grace_period = absl::ZeroDuration()});
  world.cluster.AddDisruptionBudget({.ns = "a", .name = "strict", .min_available = 1});
  world.cluster.RunMaintenanceOperator();
  NodeMaintenance object = world.Request();
  object.drain = MaintenanceDrain{.timeout = absl::Minutes(1)};
  world.Create(object);
  world.Advance(3600);
  CHECK(world.State() == "Draining");
  CHECK(world.cluster.pod("a", "web").has_value());
  world.cluster.RemoveDisruptionBudget("a", "strict");
  world.Advance(40);
  CHECK(world.State() == "Ready");
  CHECK_FALSE(world.cluster.pod("a", "web").has_value());
}

TEST_CASE("M7: RequestorFailed moves the object out of Ready, and back when it is cleared") {
  World world;
  world.cluster.RunMaintenanceOperator();
  world.Create(world.Request());
  world.Advance(10);
  world.SetFailed("True");
  CHECK(world.State() == "Ready");
  world.Advance(1);
  CHECK(world.State() == "RequestorFailed");
  CHECK(world.Object().conditions[0].status == "False");
  CHECK(world.Cordoned());
  world.SetFailed("False");
  world.Advance(1);
  CHECK(world.State() == "Ready");
  CHECK(world.Object().conditions[0].status == "True");
}

TEST_CASE("M8: an object that is deleted in Scheduled is removed, and the node is not touched") {
  World world;
  NodeMaintenance object = world.Request();
  object.conditions = {{.type = "Ready", .status = "False", .reason = "Scheduled"}};
  object.deletion_timestamp = world.clock->Now();
  world.cluster.AddNodeMaintenance(object);
  world.cluster.Cordon("n1");
  world.cluster.RunMaintenanceOperator();
  world.Advance(1);
  CHECK_FALSE(world.Exists());
  CHECK(world.Cordoned());
}

TEST_CASE(
    "M9: if an object is deleted before it is Ready, the node returns to service, regardless of other requestors") {
  World world;
  const std::string state = GENERATE(as<std::string>(), "WaitForPodCompletion", "Draining");
  world.cluster.Cordon("n1");
  world.AddIn(state, {"nvidia.network.operator"});
  world.Delete();
  world.cluster.RunMaintenanceOperator();
  world.Advance(1);
  CHECK_FALSE(world.Exists());
  CHECK_FALSE(world.Cordoned());
}

TEST_CASE("M9: a drain stops when its object is deleted") {
  World world;
  world.cluster.AddPod(PodBuilder("a", "web").OnNode("n1").OwnedByReplicaSet("web").Build());
  world.cluster.AddDisruptionBudget({.ns = "a", .name = "strict", .min_available = 1});
  world.cluster.RunMaintenanceOperator();
  NodeMaintenance object = world.Request();
  object.drain = MaintenanceDrain{};
  world.Create(object);
  world.Advance(60);
  REQUIRE(world.State() == "Draining");
  world.Delete();
  world.Advance(1);
  CHECK_FALSE(world.Exists());
  CHECK_FALSE(world.Cordoned());
  world.cluster.RemoveDisruptionBudget("a", "strict");
  world.Advance(60);
  CHECK(world.cluster.pod("a", "web").has_value());
}

TEST_CASE("M10: additional requestors delay the deletion of an object in Ready or RequestorFailed") {
  World world;
  const std::string state = GENERATE(as<std::string>(), "Ready", "RequestorFailed");
  world.cluster.Cordon("n1");
  world.AddIn(state, {"nvidia.network.operator", "nic"});
  world.cluster.RunMaintenanceOperator();
  world.Delete();
  world.Advance(3600);
  CHECK(world.Object().deletion_timestamp.has_value());
  CHECK(world.Cordoned());
  world.SetRequestors({"nic"});
  world.Advance(3600);
  CHECK(world.Cordoned());
  world.SetRequestors({});
  world.Advance(1);
  CHECK_FALSE(world.Exists());
  CHECK_FALSE(world.Cordoned());
}

TEST_CASE("an administrator can remove an object despite its finalizer, and the node stays unchanged") {
  World world;
  world.cluster.RunMaintenanceOperator();
  world.Create(world.Request());
  world.Advance(10);
  CHECK(world.cluster.EditNodeMaintenance("default", kName, [](NodeMaintenance& one) { one.name = "x"; }));
  CHECK(world.Exists());
  CHECK(world.cluster.RemoveNodeMaintenance("default", kName));
  CHECK_FALSE(world.cluster.RemoveNodeMaintenance("default", kName));
  CHECK_FALSE(world.cluster.EditNodeMaintenance("default", kName, [](NodeMaintenance&) {}));
  world.Advance(60);
  CHECK(world.Cordoned());
}

TEST_CASE("equal calls create equal objects") {
  const auto run = [] {
    World world;
    AddPodsOfAllKinds(world.cluster);
    world.cluster.RunMaintenanceOperator();
    NodeMaintenance object = world.Request();
    object.drain = MaintenanceDrain{};
    world.Create(object);
    world.Advance(100);
    return world.Object();
  };
  CHECK(run() == run());
}

}  // namespace
}  // namespace driverupgrade
