// Tests the requests to the maintenance operator, and how the status of a NodeMaintenance is read
// (upstream-behaviour.md §4, dep-F13).
#include "decide/maintenance_requestor.h"

#include "decide/attempt_log.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using Kind = MaintenanceCall::Kind;

const RequestorOptions kOptions = {.id = "nvidia.gpu-operator", .ns = "maintenance"};

NodeMaintenance Object(std::string requestor = "nvidia.gpu-operator", std::string reason = "") {
  NodeMaintenance object{.ns = "maintenance",
                         .name = "nvidia-operator-n1",
                         .uid = "nm-uid",
                         .resource_version = "7",
                         .requestor_id = std::move(requestor),
                         .node_name = "n1"};
  if (!reason.empty()) {
    object.conditions.push_back({.type = "Ready", .status = reason == "Ready" ? "True" : "False", .reason = reason});
  }
  return object;
}

internal::MaintenanceStatus Assess(const NodeView& view) {
  return internal::MaintenanceRequestor(kOptions).Assess(view);
}

NodeView ViewWith(std::vector<NodeMaintenance> objects) {
  return {.node = {.name = "n1", .uid = "n1-uid"}, .maintenances = std::move(objects)};
}

TEST_CASE("T34-T36: the phase of a node's maintenance follows from its NodeMaintenance") {
  NodeMaintenance deleting = Object("nvidia.gpu-operator", "Ready");
  deleting.deletion_timestamp = kNow;
  NodeMaintenance other_node = Object("nvidia.gpu-operator", "Ready");
  other_node.node_uid = "an-earlier-n1";
  NodeMaintenance same_node = Object("nvidia.gpu-operator", "Ready");
  same_node.node_uid = "n1-uid";
  NodeMaintenance joined = Object("nvidia.network-operator", "Ready");
  joined.additional_requestors = {"someone", "nvidia.gpu-operator"};
  NodeMaintenance other_name = Object("nvidia.gpu-operator", "Ready");
  other_name.name = "other-n1";
  const struct {
    std::string what;
    NodeView view;
    internal::MaintenancePhase phase;
  } cases[] = {
      {"not read", {.node = {.name = "n1"}}, internal::MaintenancePhase::kUnread},
      {"none", ViewWith({}), internal::MaintenancePhase::kAbsent},
      {"one of another name", ViewWith({other_name}), internal::MaintenancePhase::kAbsent},
      {"new", ViewWith({Object()}), internal::MaintenancePhase::kPending},
      {"at work", ViewWith({Object("nvidia.gpu-operator", "Draining")}), internal::MaintenancePhase::kPending},
      {"ready", ViewWith({same_node}), internal::MaintenancePhase::kReady},
      {"ready, and joined", ViewWith({joined}), internal::MaintenancePhase::kReady},
      {"ready, but another's", ViewWith({Object("nvidia.network-operator", "Ready")}),
       internal::MaintenancePhase::kForeign},
      {"H12: ready, but being deleted", ViewWith({deleting}), internal::MaintenancePhase::kStale},
      {"ready, but for an earlier node of the name", ViewWith({other_node}), internal::MaintenancePhase::kStale},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    CHECK(Assess(c.view).phase == c.phase);
    CHECK_FALSE(Assess(c.view).detail.empty());
  }
}

TEST_CASE("H14, H15: the request contains the policy's settings and nothing else") {
  const internal::MaintenanceRequestor requestor(kOptions);
  UpgradePolicy policy;
  SECTION("no drain and no jobs: neither is requested") {
    const MaintenanceCall call = requestor.Request({.name = "n1"}, policy, std::nullopt);
    CHECK(call.kind == Kind::kCreate);
    CHECK(call.object.ToString() == "maintenance/nvidia-operator-n1");
    CHECK(call.object.requestor_id == "nvidia.gpu-operator");
    CHECK(call.object.node_name == "n1");
    CHECK(call.object.cordon);
    // The garbage collector would return a failed node to service, or a node whose driver takes an hour to build.
    CHECK(call.object.skips_garbage_collection);
    CHECK_FALSE(call.object.drain);
    CHECK_FALSE(call.object.wait_for_pod_completion);
  }
  SECTION("a wait for jobs without a selector is not requested, because it would wait for every pod of the node") {
    policy.wait_for_completion = WaitForCompletionPolicy{};
    CHECK_FALSE(requestor.Request({.name = "n1"}, policy, std::nullopt).object.wait_for_pod_completion);
  }
  SECTION("an unlimited timeout is written as zero, and a timeout below a second as one second") {
    policy.wait_for_completion = WaitForCompletionPolicy{.pod_selector = Selector("job=yes")};
    policy.drain = DrainPolicy{.force = true,
                               .delete_empty_dir = true,
                               .pod_selector = Selector("app!=spared"),
                               .timeout = absl::Milliseconds(100)};
    const NodeMaintenance object = requestor.Request({.name = "n1"}, policy, std::nullopt).object;
    CHECK(object.wait_for_pod_completion == MaintenanceWait{.pod_selector = "job=yes"});
    CHECK(object.drain ==
          MaintenanceDrain{
              .force = true, .delete_empty_dir = true, .pod_selector = "app!=spared", .timeout = absl::Seconds(1)});
  }
  SECTION("pod deletion narrows the drain to pods with the driver's resources") {
    RequestorOptions options = kOptions;
    options.resource_name_filters = {"nvidia.com/gpu"};
    const PodDeletionPolicy deletion{.force = true, .timeout = absl::InfiniteDuration()};
    NodeMaintenance object = internal::MaintenanceRequestor(options).Request({.name = "n1"}, policy, deletion).object;
    CHECK(object.drain == MaintenanceDrain{.force = true,
                                           .timeout = absl::ZeroDuration(),
                                           .resource_name_filters = {"nvidia.com/gpu"}});
    policy.drain = DrainPolicy{.timeout = absl::Seconds(60)};
    object = internal::MaintenanceRequestor(options).Request({.name = "n1"}, policy, deletion).object;
    CHECK(object.drain == MaintenanceDrain{.timeout = absl::Seconds(60), .resource_name_filters = {"nvidia.com/gpu"}});
    CHECK(internal::MaintenanceRequestor(options).Request({.name = "n1"}, policy, std::nullopt).object.drain ==
          MaintenanceDrain{.timeout = absl::Seconds(60)});
  }
}

TEST_CASE("On release, our own object is deleted, but only our entry is removed from another requestor's object") {
  const internal::MaintenanceRequestor requestor(kOptions);
  CHECK(requestor.Release(Object(), kNow)->kind == Kind::kDelete);

  NodeMaintenance deleting = Object();
  deleting.deletion_timestamp = kNow;
  CHECK_FALSE(requestor.Release(deleting, kNow));

  NodeMaintenance joined = requestor.Join(Object("nvidia.network-operator")).object;
  CHECK(joined.additional_requestors == std::vector<std::string>{"nvidia.gpu-operator"});
  const auto leave = requestor.Release(joined, kNow);
  REQUIRE(leave);
  CHECK(leave->kind == Kind::kLeave);
  CHECK(leave->object.additional_requestors.empty());
  CHECK(leave->object.uid == "nm-uid");
  CHECK(leave->object.resource_version == "7");

  CHECK_FALSE(requestor.Release(Object("nvidia.network-operator"), kNow));
}

TEST_CASE("M7: a failure is reported once, and only our own report is withdrawn") {
  const internal::MaintenanceRequestor requestor(kOptions);
  const auto report = requestor.ReportFailure(Object("nvidia.network-operator", "Ready"), kNow);
  REQUIRE(report);
  REQUIRE(report->object.conditions.size() == 2);
  CHECK(report->object.conditions.front().type == "Ready");
  CHECK(report->object.conditions.back().type == "RequestorFailed");
  CHECK(report->object.conditions.back().status == "True");
  CHECK(report->object.conditions.back().last_transition_time == kNow);
  CHECK_FALSE(requestor.ReportFailure(report->object, kNow));

  NodeMaintenance joined = requestor.Join(report->object).object;
  CHECK(Assess(ViewWith({joined})).phase == internal::MaintenancePhase::kFailed);
  const auto withdraw = requestor.Release(joined, kNow);
  REQUIRE(withdraw);
  CHECK(withdraw->kind == Kind::kWithdrawFailure);
  CHECK(withdraw->object.conditions.back().status == "False");
  CHECK(requestor.Release(withdraw->object, kNow)->kind == Kind::kLeave);

  RequestorOptions other = kOptions;
  other.id = "nvidia.network-operator";
  CHECK_FALSE(internal::MaintenanceRequestor(other).WithdrawFailure(report->object, kNow));
}

TEST_CASE("Requestor options that the API server would refuse are refused in advance") {
  CHECK(Validate(kOptions).ok());
  const struct {
    RequestorOptions options;
    std::string error;
  } cases[] = {
      {{.id = "", .ns = "m"}, "requestor options: id: must be a domain name of 2 to 63 characters, got ``"},
      {{.id = "Not.A.Name", .ns = "m"},
       "requestor options: id: must be a domain name of 2 to 63 characters, got `Not.A.Name`"},
      {{.id = "a.b", .ns = ""}, "requestor options: namespace: must be the name of a namespace, got ``"},
      {{.id = "a.b", .ns = "m", .name_prefix = "x_y"},
       "requestor options: name prefix: must be a valid start of an object's name, got `x_y`"},
  };
  for (const auto& c : cases) CHECK(Validate(c.options) == absl::InvalidArgumentError(c.error));
}

TEST_CASE(
    "arch-A9: a call for a NodeMaintenance is retried after a pause, or immediately for a newer version of the "
    "object") {
  internal::AttemptLog log;
  const MaintenanceCall call{.kind = Kind::kJoin, .object = Object("nvidia.network-operator")};
  log.MaintenanceCallSent("n1-uid", call);
  const auto attempt = [&] { return log.ForNode("n1-uid").maintenances.at(call.object.name); };
  CHECK(internal::NextMaintenanceCallDue(attempt(), call) == absl::InfiniteFuture());
  log.MaintenanceCallAnswered("n1-uid", call.object.name, Outcome::kConflict, "conflict", kNow);
  CHECK(internal::NextMaintenanceCallDue(attempt(), call) >= kNow + absl::Milliseconds(4500));
  CHECK(internal::NextMaintenanceCallDue(attempt(), call) <= kNow + absl::Milliseconds(5500));
  MaintenanceCall newer = call;
  newer.object.resource_version = "8";
  CHECK(internal::NextMaintenanceCallDue(attempt(), newer) == absl::InfinitePast());
  log.MaintenanceCallSent("n1-uid", call);
  log.MaintenanceCallAnswered("n1-uid", call.object.name, Outcome::kConflict, "conflict", kNow);
  CHECK(internal::NextMaintenanceCallDue(attempt(), call) >= kNow + absl::Seconds(9));
  log.MaintenancesOver("n1-uid");
  CHECK(log.ForNode("n1-uid").empty());
}

}  // namespace
}  // namespace driverupgrade::tests
