#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "unit/wire/fixtures.h"

namespace driverupgrade {
namespace {

absl::Time At(int hour, int minute, int second) {
  return absl::FromCivil(absl::CivilSecond(2026, 1, 2, hour, minute, second), absl::UTCTimeZone());
}

std::string ErrorOf(const std::string& members) {
  const auto maintenance = ParseObject<NodeMaintenance>(R"({"kind":"NodeMaintenance",)" + members + "}");
  REQUIRE_FALSE(maintenance.ok());
  CHECK(absl::IsInvalidArgument(maintenance.status()));
  return std::string(maintenance.status().message());
}

const NodeMaintenance kSmall{
    .ns = "default", .name = "nvidia-operator-gpu-7", .requestor_id = "nvidia.gpu.operator", .node_name = "gpu-7"};

TEST_CASE("a NodeMaintenance is parsed with all fields that an upgrade needs") {
  const absl::StatusOr<NodeMaintenance> maintenance = ParseObject<NodeMaintenance>(fixtures::kNodeMaintenance);
  REQUIRE(maintenance.ok());
  CHECK(*maintenance ==
        NodeMaintenance{
            .ns = "default",
            .name = "nvidia-operator-gpu-7",
            .uid = "u-nm",
            .resource_version = "812",
            .deletion_timestamp = At(4, 4, 5),
            .node_uid = "u-7",
            .requestor_id = "nvidia.gpu.operator",
            .additional_requestors = {"nvidia.network.operator", "nic"},
            .node_name = "gpu-7",
            .skips_garbage_collection = true,
            .cordon = false,
            .wait_for_pod_completion = MaintenanceWait{.pod_selector = "app=job", .timeout = absl::Seconds(60)},
            .drain = MaintenanceDrain{.force = true,
                                      .delete_empty_dir = true,
                                      .pod_selector = "!skip",
                                      .timeout = absl::ZeroDuration(),
                                      .resource_name_filters = {"nvidia.com/gpu.*", "nvidia.com/rdma"}},
            .conditions = {{.type = "Ready",
                            .status = "True",
                            .reason = "Ready",
                            .last_transition_time = At(3, 14, 5),
                            .observed_generation = 2},
                           {.type = "RequestorFailed",
                            .status = "False",
                            .reason = "FailedMaintenance",
                            .message = "driver \"x\"",
                            .last_transition_time = At(2, 15, 5)}}});
}

TEST_CASE("missing members of a NodeMaintenance get the defaults of the server's schema") {
  CHECK(*ParseObject<NodeMaintenance>(R"({"kind":"NodeMaintenance"})") == NodeMaintenance{});
  const auto sparse = ParseObject<NodeMaintenance>(
      R"({"kind":"NodeMaintenance","metadata":null,"status":null,"new":1,
          "spec":{"cordon":null,"drainSpec":{},"waitForPodCompletion":{},"additionalRequestors":null}})");
  REQUIRE(sparse.ok());
  CHECK(sparse->cordon);
  REQUIRE(sparse->drain.has_value());
  CHECK(sparse->drain->timeout == absl::Seconds(300));
  CHECK(*sparse->drain == MaintenanceDrain{});
  CHECK(sparse->wait_for_pod_completion == MaintenanceWait{});
}

TEST_CASE("a NodeMaintenance list is parsed") {
  const auto page = ParseList<NodeMaintenance>(fmt::format(
      R"({{"kind":"NodeMaintenanceList","metadata":{{"resourceVersion":"9","continue":"c"}},"items":[{}]}})",
      fixtures::kNodeMaintenance));
  REQUIRE(page.ok());
  CHECK(page->items == std::vector{*ParseObject<NodeMaintenance>(fixtures::kNodeMaintenance)});
  CHECK(page->continue_token == "c");
}

TEST_CASE("errors in a NodeMaintenance contain the path") {
  using Row = std::pair<std::string, std::string>;
  const auto [members, error] = GENERATE(values<Row>({
      {R"("spec":[])", "spec: expected an object, got an array"},
      {R"("spec":{"cordon":"yes"})", "spec.cordon: expected a boolean, got a string"},
      {R"("spec":{"additionalRequestors":"a"})", "spec.additionalRequestors: expected an array, got a string"},
      {R"("spec":{"additionalRequestors":["a",1]})", "spec.additionalRequestors[1]: expected a string, got a number"},
      {R"("spec":{"drainSpec":true})", "spec.drainSpec: expected an object, got a boolean"},
      {R"("spec":{"drainSpec":{"timeoutSeconds":"5"}})",
       "spec.drainSpec.timeoutSeconds: expected an integer, got a string"},
      {R"("spec":{"drainSpec":{"timeoutSeconds":-1}})",
       "spec.drainSpec.timeoutSeconds: expected a number of seconds, got a negative one"},
      {R"("spec":{"waitForPodCompletion":{"timeoutSeconds":1.5}})",
       "spec.waitForPodCompletion.timeoutSeconds: expected an integer"},
      {R"("spec":{"waitForPodCompletion":{"timeoutSeconds":99999999999}})",
       "spec.waitForPodCompletion.timeoutSeconds: integer out of range"},
      {R"("spec":{"drainSpec":{"podEvictionFilters":[{"byResourceNameRegex":{}}]}})",
       "spec.drainSpec.podEvictionFilters[0].byResourceNameRegex: expected a string, got an object"},
      {R"("status":{"conditions":{}})", "status.conditions: expected an array, got an object"},
      {R"("status":{"conditions":[{"lastTransitionTime":"now"}]})",
       "status.conditions[0].lastTransitionTime: expected an RFC 3339 time, got \"now\""},
      {R"("metadata":{"ownerReferences":[{"kind":1}]})",
       "metadata.ownerReferences[0].kind: expected a string, got a number"},
  }));
  CHECK(ErrorOf(members) == error);
}

TEST_CASE("the parser refuses every proper prefix of a NodeMaintenance, and does not crash") {
  const std::string_view whole = fixtures::kNodeMaintenance;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    REQUIRE_FALSE(ParseObject<NodeMaintenance>(whole.substr(0, length)).ok());
  }
}

TEST_CASE("a request is created with all zero and false values (dep-F13)") {
  NodeMaintenance object = kSmall;
  object.uid = "not sent";
  object.conditions = {{.type = "not sent"}};
  CHECK(FormatNodeMaintenance({.object = object}) ==
        R"({"apiVersion":"maintenance.nvidia.com/v1alpha1","kind":"NodeMaintenance",)"
        R"("metadata":{"name":"nvidia-operator-gpu-7","namespace":"default"},)"
        R"("spec":{"requestorID":"nvidia.gpu.operator","nodeName":"gpu-7","cordon":true}})");
  object.cordon = false;
  object.skips_garbage_collection = true;
  object.additional_requestors = {"b", "a"};
  object.wait_for_pod_completion = MaintenanceWait{};
  object.drain = MaintenanceDrain{.timeout = absl::ZeroDuration()};
  CHECK(FormatNodeMaintenance({.object = object}) ==
        R"({"apiVersion":"maintenance.nvidia.com/v1alpha1","kind":"NodeMaintenance",)"
        R"("metadata":{"name":"nvidia-operator-gpu-7","namespace":"default",)"
        R"("annotations":{"maintenance.nvidia.com/garbage-collector.ignore":"true"}},)"
        R"("spec":{"requestorID":"nvidia.gpu.operator","additionalRequestors":["b","a"],"nodeName":"gpu-7",)"
        R"("cordon":false,"waitForPodCompletion":{"podSelector":"","timeoutSeconds":0},)"
        R"("drainSpec":{"force":false,"podSelector":"","timeoutSeconds":0,"deleteEmptyDir":false}}})");
}

TEST_CASE("timeouts are written as whole seconds within the bounds of the schema") {
  using Row = std::pair<absl::Duration, std::int64_t>;
  const auto [timeout, written] = GENERATE(values<Row>({
      {absl::ZeroDuration(), 0},
      {absl::Seconds(90), 90},
      {absl::Milliseconds(1500), 1},
      {absl::Seconds(-5), 0},
      {absl::InfiniteDuration(), std::numeric_limits<std::int32_t>::max()},
      {-absl::InfiniteDuration(), 0},
      {absl::Hours(24 * 365 * 1000), std::numeric_limits<std::int32_t>::max()},
  }));
  NodeMaintenance object = kSmall;
  object.drain = MaintenanceDrain{.timeout = timeout};
  CHECK(FormatNodeMaintenance({.object = object}).find(fmt::format(R"("timeoutSeconds":{},)", written)) !=
        std::string::npos);
}

TEST_CASE("patches of a NodeMaintenance contain the UID and version, and replace a whole list") {
  PatchNodeMaintenanceParams patch{.ns = "default", .name = "n", .uid = "u", .resource_version = "7"};
  patch.additional_requestors = std::vector<std::string>{"a", "b"};
  CHECK(FormatNodeMaintenancePatch(patch) ==
        R"({"metadata":{"uid":"u","resourceVersion":"7"},"spec":{"additionalRequestors":["a","b"]}})");
  patch.additional_requestors->clear();
  CHECK(FormatNodeMaintenancePatch(patch) ==
        R"({"metadata":{"uid":"u","resourceVersion":"7"},"spec":{"additionalRequestors":[]}})");
  patch.additional_requestors.reset();
  patch.conditions = {{.type = "RequestorFailed",
                       .status = "True",
                       .reason = "FailedMaintenance",
                       .message = "it \"failed\"",
                       .last_transition_time = At(3, 4, 5)},
                      {.type = "Ready", .observed_generation = 3}};
  CHECK(FormatNodeMaintenancePatch(patch) ==
        R"({"metadata":{"uid":"u","resourceVersion":"7"},"status":{"conditions":[)"
        R"({"type":"RequestorFailed","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z",)"
        R"("reason":"FailedMaintenance","message":"it \"failed\""},)"
        R"({"type":"Ready","status":"","observedGeneration":3,"lastTransitionTime":"1970-01-01T00:00:00Z",)"
        R"("reason":"","message":""}]}})");
}

TEST_CASE("a deletion of a NodeMaintenance contains its UID") {
  CHECK(FormatDeleteOptions(DeleteNodeMaintenanceParams{.ns = "default", .name = "n", .uid = "u"}) ==
        R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}})");
}

TEST_CASE("a NodeMaintenance that is written and read again is unchanged") {
  const NodeMaintenance maintenance = *ParseObject<NodeMaintenance>(fixtures::kNodeMaintenance);
  CHECK(*ParseObject<NodeMaintenance>(FormatObject(maintenance)) == maintenance);
  CHECK(*ParseObject<NodeMaintenance>(FormatObject(kSmall)) == kSmall);
  CHECK(*ParseObject<NodeMaintenance>(FormatObject(NodeMaintenance{})) == NodeMaintenance{});
  const ListPage<NodeMaintenance> page{.items = {maintenance, kSmall}, .resource_version = "5"};
  CHECK(*ParseList<NodeMaintenance>(FormatList(page)) == page);
}

TEST_CASE("the data of a ControllerRevision is kept as compact JSON, whatever it contains") {
  using Row = std::pair<std::string, std::string>;
  const auto [data, expected] = GENERATE(values<Row>({
      {"null", ""},
      {"{ }", "{}"},
      {"{ \"b\" : [ 1, -2.5, true, null ],\n \"a\":\"\\u00b5 \\\"x\\\"\" }",
       "{\"b\":[1,-2.5,true,null],\"a\":\"µ \\\"x\\\"\"}"},
      {R"({"n":18446744073709551615,"m":-9223372036854775808})",
       R"({"n":18446744073709551615,"m":-9223372036854775808})"},
      {R"("text")", R"("text")"},
  }));
  const auto revision = ParseObject<ControllerRevision>(R"({"kind":"ControllerRevision","data":)" + data + "}");
  REQUIRE(revision.ok());
  CHECK(revision->data == expected);
  CHECK(*ParseObject<ControllerRevision>(FormatObject(*revision)) == *revision);
}

TEST_CASE("data that is not JSON does not corrupt the output") {
  const ControllerRevision revision{.ns = "gpu", .name = "r", .revision = 1, .data = "{\"a\":"};
  const auto read = ParseObject<ControllerRevision>(FormatObject(revision));
  REQUIRE(read.ok());
  CHECK(read->data.empty());
}

TEST_CASE("a ControllerRevision whose data is nested too deeply is refused") {
  std::string data;
  for (int i = 0; i < 200; ++i) data += R"({"a":)";
  data += "1" + std::string(200, '}');
  CHECK_FALSE(ParseObject<ControllerRevision>(R"({"kind":"ControllerRevision","data":)" + data + "}").ok());
}

}  // namespace
}  // namespace driverupgrade
