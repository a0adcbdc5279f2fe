#include <string>
#include <string_view>

#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "unit/wire/fixtures.h"

namespace driverupgrade {
namespace {

std::string ListOf(std::string_view items) {
  return fmt::format(R"({{"apiVersion":"v1","kind":"List","items":[{}],"metadata":{{"resourceVersion":""}}}})", items);
}

std::string ErrorOf(std::string_view json) {
  const absl::StatusOr<ClusterObjects> objects = ParseMixedList(json);
  REQUIRE_FALSE(objects.ok());
  CHECK(objects.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(objects.status().message());
}

TEST_CASE("A mixed list is split by kind, and the objects of each kind stay in the order of the document") {
  const std::string document = ListOf(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"b","name":"p"}}}},
         {},
         {},
         {{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{{"namespace":"a","name":"d","uid":"u-d"}}}},
         {{"apiVersion":"apps/v1","kind":"ControllerRevision","revision":3,"metadata":{{"namespace":"a","name":"r"}}}},
         {{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"namespace":"a","name":"b"}}}},
         {},
         {{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"a","name":"p"}}}})",
      fixtures::kNode, fixtures::kPod, fixtures::kNodeMaintenance));
  const absl::StatusOr<ClusterObjects> objects = ParseMixedList(document);
  REQUIRE(objects.ok());
  REQUIRE(objects->nodes.size() == 1);
  CHECK(objects->nodes[0] == *ParseObject<Node>(fixtures::kNode));
  REQUIRE(objects->pods.size() == 3);
  CHECK(objects->pods[0].ref.ToString() == "b/p");
  CHECK(objects->pods[1] == *ParseObject<Pod>(fixtures::kPod));
  CHECK(objects->pods[2].ref.ToString() == "a/p");
  REQUIRE(objects->daemon_sets.size() == 1);
  CHECK(objects->daemon_sets[0].uid == "u-d");
  REQUIRE(objects->controller_revisions.size() == 1);
  CHECK(objects->controller_revisions[0].revision == 3);
  REQUIRE(objects->pod_disruption_budgets.size() == 1);
  CHECK(objects->pod_disruption_budgets[0].name == "b");
  REQUIRE(objects->node_maintenances.size() == 1);
  CHECK(objects->node_maintenances[0] == *ParseObject<NodeMaintenance>(fixtures::kNodeMaintenance));
}

TEST_CASE("Items of other kinds and of other groups are ignored, whatever they contain") {
  const absl::StatusOr<ClusterObjects> objects = ParseMixedList(ListOf(
      R"({"apiVersion":"maintenance.nvidia.com/v1alpha1","kind":"MaintenanceOperatorConfig","metadata":7},
         {"apiVersion":"maintenance.example.com/v1","kind":"NodeMaintenance","metadata":7},
         {"apiVersion":"storage.example.com/v1","kind":"Node","metadata":{"name":"disk","labels":[]}},
         {"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget","metadata":{"name":"old version, same group"}},
         {"kind":"Node","metadata":{"name":"without a version"}})"));
  REQUIRE(objects.ok());
  REQUIRE(objects->nodes.size() == 1);
  CHECK(objects->nodes[0].name == "without a version");
  CHECK(objects->pod_disruption_budgets.size() == 1);
}

TEST_CASE("An empty list is parsed as an empty cluster") {
  for (const char* json : {R"({"kind":"List","items":[]})", R"({"kind":"List","items":null})", R"({"kind":"List"})"}) {
    const absl::StatusOr<ClusterObjects> objects = ParseMixedList(json);
    REQUIRE(objects.ok());
    CHECK(*objects == ClusterObjects{});
  }
}

TEST_CASE("Errors in a mixed list contain the path") {
  CHECK(ErrorOf(R"({"items":[]})") == R"(kind: expected "List", got nothing)");
  CHECK(ErrorOf(R"({"kind":"NodeList","items":[]})") == R"(kind: expected "List", got "NodeList")");
  CHECK(ErrorOf(R"([])") == "expected an object");
  CHECK(ErrorOf(R"({"kind":"List","items":{}})") == "items: expected an array, got an object");
  CHECK(ErrorOf(ListOf(R"("x")")) == "items[0]: expected an object, got a string");
  CHECK(ErrorOf(ListOf(R"({"metadata":{"name":"n"}})")) == "items[0].kind: expected a kind, got nothing");
  CHECK(ErrorOf(ListOf(R"({"kind":"Node","metadata":{}})")) == "items[0].metadata.name: expected a name, got nothing");
  CHECK(ErrorOf(ListOf(R"({"kind":"Other"},{"kind":"Node","metadata":{"name":"n","labels":["a"]}})")) ==
        "items[1].metadata.labels: expected an object, got an array");
  CHECK(ErrorOf(ListOf(R"({"kind":"Pod","metadata":{"name":"p","labels":{"app.kubernetes.io/name":1}}})")) ==
        R"(items[0].metadata.labels["app.kubernetes.io/name"]: expected a string, got a number)");
  CHECK(ErrorOf(R"({"kind":"List","items":[)").starts_with("malformed JSON at byte 24: "));
}

TEST_CASE("An object that cannot be read is marked if requested") {
  const auto objects = ParseMixedList(
      ListOf(R"({"kind":"Node","metadata":{"name":"n"},"spec":7},{"kind":"Node","metadata":{"name":"m"}})"),
      OnUnreadable::kMark);
  REQUIRE(objects.ok());
  REQUIRE(objects->nodes.size() == 2);
  CHECK(objects->nodes[0].unreadable == "spec: expected an object, got a number");
  CHECK(objects->nodes[1].unreadable.empty());
}

TEST_CASE("Two objects with the same kind, namespace, and name cause an error") {
  CHECK(ErrorOf(ListOf(R"({"kind":"Node","metadata":{"name":"n"}},{"kind":"Node","metadata":{"name":"n"}})")) ==
        R"(items[1].metadata.name: another Node has the name "n")");
  CHECK(ParseMixedList(ListOf(R"({"kind":"Pod","metadata":{"namespace":"a","name":"n"}},
                                 {"kind":"Pod","metadata":{"namespace":"b","name":"n"}},
                                 {"kind":"Node","metadata":{"name":"n"}})"))
            .ok());
}

}  // namespace
}  // namespace driverupgrade
