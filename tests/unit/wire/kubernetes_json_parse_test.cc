#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "unit/wire/fixtures.h"

namespace driverupgrade {
namespace {

using Op = LabelSelector::Operator;

std::string ErrorOf(const absl::Status& status) {
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST_CASE("a node is parsed with all fields that an upgrade needs") {
  const absl::StatusOr<Node> node = ParseObject<Node>(fixtures::kNode);
  REQUIRE(node.ok());
  CHECK(*node ==
        Node{.name = "gpu-7",
             .uid = "0a6b9c1e-6f0a-4f0c-9d4c-3b1c1f1f7e07",
             .resource_version = "184467",
             .labels = {{"kubernetes.io/hostname", "gpu-7"}, {"nvidia.com/gpu-driver-upgrade-state", "drain-required"}},
             .annotations = {{"nvidia.com/gpu-driver-upgrade-enabled", "true"}, {"note", "Größe \"XL\"\nµ"}},
             .unschedulable = true,
             .taints = {{.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"}},
             .ready = false});
}

TEST_CASE("a pod is parsed with all fields that an upgrade needs") {
  const absl::StatusOr<Pod> pod = ParseObject<Pod>(fixtures::kPod);
  REQUIRE(pod.ok());
  CHECK(*pod ==
        Pod{.ref = {"gpu-operator", "driver-x7k2p", "11111111-2222-3333-4444-555555555555"},
            .resource_version = "90071992547409931",
            .node_name = "gpu-7",
            .labels = {{"app", "driver"}, {"controller-revision-hash", "5d7c8f9b6c"}, {"pod-template-generation", "3"}},
            .owners = {{.api_version = "v1", .kind = "ConfigMap", .name = "plain", .uid = "u-plain"},
                       {"apps/v1", "DaemonSet", "driver", "u-ds", true}},
            .phase = PodPhase::kRunning,
            .deletion_timestamp = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 14, 5), absl::UTCTimeZone()),
            .finalizers = {"example.com/unload"},
            .mirror = true,
            .has_empty_dir = true,
            .tolerates_cordon_since = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone()),
            .init_container_statuses = {{.name = "wait", .ready = true}},
            .container_statuses = {{.name = "driver", .ready = false, .restart_count = 11},
                                   {.name = "sidecar", .ready = true}},
            .ready_since = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 5, 0), absl::UTCTimeZone()),
            .resource_names = {"cpu", "example.com/debug", "example.com/init-only", "memory", "nvidia.com/gpu"},
            .resource_claims = {"driver-x7k2p-b-9hm2c", "driver-x7k2p-extended-resources-4zk8f", "shared"},
            .annotations = {{"kubernetes.io/config.mirror", ""}},
            .volumes = {{"host", "hostPath", "/run"}, {"tmp", "emptyDir", ""}, {"disk", "csi", ""}},
            .scheduler_name = "default-scheduler"});
}

TEST_CASE("W11: the status of a container that cannot start is parsed with the reason and the image") {
  const auto read = [](const std::string& reason) {
    const Pod pod = *ParseObject<Pod>(
        R"({"kind":"Pod","status":{"containerStatuses":[{"name":"c","image":"driver:typo","state":{"waiting":{"reason":")" +
        reason + R"("}}}]}})");
    CHECK(*ParseObject<Pod>(FormatObject(pod)) == pod);
    return pod.container_statuses[0];
  };
  for (const char* reason : {"ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "RunContainerError"}) {
    CAPTURE(reason);
    CHECK(read(reason).start_error == reason);
    CHECK(read(reason).image == "driver:typo");
  }
  for (const char* reason : {"CrashLoopBackOff", "PodInitializing", "ContainerCreating"}) {
    CHECK(read(reason) == ContainerStatus{.name = "c"});
  }
}

TEST_CASE("W3 to W8: all fields that can prevent the upgrade of a node are read and written") {
  const absl::StatusOr<Node> node = ParseObject<Node>(R"({"kind":"Node","metadata":{"name":"n1",
      "deletionTimestamp":"2026-01-02T03:04:05Z"},"spec":{"taints":[{"key":"karpenter.sh/disrupted","effect":"NoSchedule"},
      {"key":"a","value":"b","effect":"PreferNoSchedule"},
      {"key":"a","effect":"NoExecute","timeAdded":"2026-01-02T03:04:01Z"}]},
      "status":{"conditions":[{"type":"Ready","status":"Unknown","lastTransitionTime":"2026-01-02T03:04:00Z"}]}})");
  REQUIRE(node.ok());
  const absl::Time deleted = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone());
  CHECK(*node == Node{.name = "n1",
                      .deletion_timestamp = deleted,
                      .taints = {{.key = "karpenter.sh/disrupted", .effect = "NoSchedule"},
                                 {.key = "a", .value = "b", .effect = "PreferNoSchedule"},
                                 {.key = "a", .effect = "NoExecute", .time_added = "2026-01-02T03:04:01Z"}},
                      .ready = false,
                      .ready_transition_time = deleted - absl::Seconds(5)});
  CHECK(*ParseObject<Node>(FormatObject(*node)) == *node);
}

TEST_CASE("W5: an unbound pod is parsed with the node in its affinity, and the reason why it is not scheduled") {
  const auto read = [](std::string_view fields) {
    return *ParseObject<Pod>(fmt::format(
        R"({{"kind":"Pod","metadata":{{"name":"p"}},"spec":{{{}"affinity":{{"nodeAffinity":{{
           "requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchFields":[
           {{"key":"metadata.name","operator":"In","values":["gpu-1"]}}]}}]}}}}}}}},"status":{{"conditions":[
           {{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no room"}},
           {{"type":"Ready","status":"False","lastTransitionTime":"2026-01-02T03:04:05Z"}}]}}}})",
        fields));
  };
  const Pod unbound = read("");
  CHECK(unbound.affinity_node_name == "gpu-1");
  CHECK(unbound.unscheduled_message == "no room");
  CHECK(unbound.not_ready_since == absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone()));
  CHECK(*ParseObject<Pod>(FormatObject(unbound)) == unbound);
  CHECK(read(R"("nodeName":"gpu-1",)").affinity_node_name.empty());
}

TEST_CASE("a DaemonSet list is parsed") {
  const absl::StatusOr<ListPage<DaemonSet>> page = ParseList<DaemonSet>(fixtures::kDaemonSetList);
  REQUIRE(page.ok());
  CHECK(page->continue_token.empty());
  CHECK(page->resource_version == "777");
  REQUIRE(page->items.size() == 1);
  const absl::StatusOr<LabelSelector> selector =
      LabelSelector::FromRequirements({{.key = "app", .op = Op::kIn, .values = {"driver"}},
                                       {.key = "debug", .op = Op::kDoesNotExist},
                                       {.key = "tier", .op = Op::kNotIn, .values = {"batch", "cache"}}});
  REQUIRE(selector.ok());
  CHECK(page->items[0] == DaemonSet{.ns = "gpu-operator",
                                    .name = "driver",
                                    .uid = "u-ds",
                                    .generation = 4,
                                    .observed_generation = 3,
                                    .labels = {{"app", "driver"}},
                                    .annotations = {{"deprecated.daemonset.template.generation", "4"}},
                                    .selector = *selector,
                                    .tolerations = std::vector<Toleration>{},
                                    .on_delete = true});
}

TEST_CASE("a ControllerRevision is parsed, even if its number exceeds the precision of a double") {
  const absl::StatusOr<ControllerRevision> revision = ParseObject<ControllerRevision>(fixtures::kControllerRevision);
  REQUIRE(revision.ok());
  CHECK(*revision == ControllerRevision{.ns = "gpu-operator",
                                        .name = "driver-5d7c8f9b6c",
                                        .owner_uid = "u-ds",
                                        .revision = 9007199254740993,
                                        .labels = {{"app", "driver"}, {"controller-revision-hash", "5d7c8f9b6c"}},
                                        .data =
                                            R"({"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":)"
                                            R"("driver"}}}}})"});
}

// Compares a DaemonSet's template, as the API server returns it, with the template that the DaemonSet controller writes
// into a ControllerRevision.
TEST_CASE("a DaemonSet and its current revision have templates with the same digest") {
  const auto digest = [](const std::string& image) {
    return ParseObject<DaemonSet>(
               R"({"kind":"DaemonSet","spec":{"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"d"}},)"
               R"("spec":{"containers":[{"name":"c","image":")" +
               image + R"("}],"hostPID":true}}}})")
        ->template_digest.value;
  };
  const ControllerRevision revision = *ParseObject<ControllerRevision>(
      R"({"kind":"ControllerRevision","data":{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"d"}},)"
      R"("spec":{"containers":[{"image":"i:1","name":"c"}],"hostPID":true}}}}})");
  CHECK(revision.template_digest.value == digest("i:1"));
  CHECK(revision.template_digest.value != digest("i:2"));
  CHECK(revision.template_digest.value != 0);
  for (const char* data : {"7", "[]", R"({"spec":7})", R"({"spec":{"template":"x"}})", R"({"spec":{"template":{}}})"}) {
    const auto odd =
        ParseObject<ControllerRevision>(std::string(R"({"kind":"ControllerRevision","data":)") + data + "}");
    REQUIRE(odd.ok());
    CHECK(odd->template_digest.value == 0);
  }
}

TEST_CASE("a PodDisruptionBudget is parsed") {
  const absl::StatusOr<PodDisruptionBudget> budget = ParseObject<PodDisruptionBudget>(fixtures::kBudget);
  REQUIRE(budget.ok());
  CHECK(*budget == PodDisruptionBudget{.ns = "shop",
                                       .name = "web",
                                       .uid = "u-pdb",
                                       .selector = LabelSelector::FromMatchLabels({{"app", "web"}}),
                                       .disruptions_allowed = 1,
                                       .current_healthy = 4,
                                       .desired_healthy = 3});
}

TEST_CASE("missing or null members get the default, and unknown members are ignored") {
  CHECK(*ParseObject<Node>(R"({"kind":"Node"})") == Node{});
  CHECK(*ParseObject<Pod>(R"({"kind":"Pod","metadata":null,"spec":null,"status":null})") == Pod{});
  const Pod odd = *ParseObject<Pod>(R"({"kind":"Pod","metadata":{"name":"p","labels":null,"deletionTimestamp":null},
    "spec":{"volumes":[{"name":"v","emptyDir":null}],"containers":null},"status":{"phase":"Hibernating"},"new":[{}]})");
  CHECK(odd == Pod{.ref = {.name = "p"}, .phase = PodPhase::kUnknown, .volumes = {{.name = "v"}}});
  // A list whose items are null is empty, because Go writes an empty list in this way.
  CHECK(ParseList<Pod>(R"({"kind":"PodList","items":null})")->items.empty());
  CHECK(ParseList<Pod>(R"({"kind":"PodList","metadata":{"continue":"abc"}})")->continue_token == "abc");
}

TEST_CASE("a DaemonSet counts as OnDelete only if its update strategy is OnDelete") {
  using Row = std::pair<std::string, bool>;
  const auto [strategy, expected] = GENERATE(values<Row>({{R"({"type":"OnDelete"})", true},
                                                          {R"({"type":"RollingUpdate"})", false},
                                                          {R"({"type":"Fancy"})", false},
                                                          {"{}", false},
                                                          {"null", false}}));
  CAPTURE(strategy);
  CHECK(ParseObject<DaemonSet>(R"({"kind":"DaemonSet","spec":{"updateStrategy":)" + strategy + "}}")->on_delete ==
        expected);
}

TEST_CASE("a node is ready unless it has a condition Ready that is not True") {
  using Row = std::pair<std::string, bool>;
  const auto [conditions, expected] = GENERATE(values<Row>({
      {"null", true},
      {"[]", true},
      {R"([{"type":"DiskPressure","status":"False"}])", true},
      {R"([{"type":"Ready","status":"True"}])", true},
      {R"([{"type":"Ready","status":"False"}])", false},
      {R"([{"type":"Ready","status":"Unknown"}])", false},
      {R"([{"type":"Ready"}])", false},
  }));
  CAPTURE(conditions);
  CHECK(ParseObject<Node>(R"({"kind":"Node","status":{"conditions":)" + conditions + "}}")->ready == expected);
}

TEST_CASE("a selector object is interpreted as S12 requires") {
  struct Row {
    std::string name;
    std::string selector;
    LabelSelector expected;
  };
  const auto row = GENERATE(values<Row>({
      {"null", "null", LabelSelector::Nothing()},
      {"empty", "{}", LabelSelector()},
      {"empty parts", R"({"matchLabels":{},"matchExpressions":[]})", LabelSelector()},
      {"labels", R"({"matchLabels":{"a":"b","c":"d"}})", LabelSelector::FromMatchLabels({{"a", "b"}, {"c", "d"}})},
      {"exists", R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})", *LabelSelector::Parse("a")},
      {"values twice", R"({"matchExpressions":[{"key":"a","operator":"In","values":["y","x","y"]}]})",
       *LabelSelector::Parse("a in (x,y)")},
      {"unknown operator", R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]})",
       LabelSelector::Nothing()},
      {"In without values", R"({"matchExpressions":[{"key":"a","operator":"In"}]})", LabelSelector::Nothing()},
      {"Exists with values", R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})",
       LabelSelector::Nothing()},
  }));
  CAPTURE(row.name);
  const auto budget =
      ParseObject<PodDisruptionBudget>(R"({"kind":"PodDisruptionBudget","spec":{"selector":)" + row.selector + "}}");
  REQUIRE(budget.ok());
  CHECK(budget->selector == row.expected);
}

TEST_CASE("if a key occurs several times, its last value counts, as in Go") {
  const auto node = ParseObject<Node>(
      R"({"kind":"Pod","metadata":{"name":"first"},"kind":"Node","metadata":{"name":"last","labels":{"a":"1","a":"2"}}})");
  REQUIRE(node.ok());
  CHECK(node->name == "last");
  CHECK(node->labels == StringMap{{"a", "2"}});
}

TEST_CASE("a value of the wrong type causes an error that contains the path") {
  struct Row {
    std::string items;
    std::string error;
  };
  const auto row = GENERATE(values<Row>({
      {R"({})", "items: expected an array, got an object"},
      {R"([1])", "items[0]: expected an object, got a number"},
      {R"([{},{"metadata":[]}])", "items[1].metadata: expected an object, got an array"},
      {R"([{"metadata":{"labels":"x"}}])", "items[0].metadata.labels: expected an object, got a string"},
      {R"([{"metadata":{"labels":{"a.b/c":true}}}])",
       "items[0].metadata.labels[\"a.b/c\"]: expected a string, got a boolean"},
      {R"([{"metadata":{"labels":{"\n\u001b":1}}}])",
       "items[0].metadata.labels.\\x0a\\x1b: expected a string, got a number"},
      {R"([{"metadata":{"deletionTimestamp":"yesterday"}}])",
       "items[0].metadata.deletionTimestamp: expected an RFC 3339 time, got \"yesterday\""},
      {R"([{"metadata":{"deletionTimestamp":"infinite-future"}}])",
       "items[0].metadata.deletionTimestamp: expected an RFC 3339 time, got \"infinite-future\""},
      {R"([{"status":{"containerStatuses":[{"ready":"yes"}]}}])",
       "items[0].status.containerStatuses[0].ready: expected a boolean, got a string"},
      {R"([{"status":{"containerStatuses":[{"restartCount":2147483648}]}}])",
       "items[0].status.containerStatuses[0].restartCount: integer out of range"},
      {R"([{"status":{"containerStatuses":[{"restartCount":18446744073709551615}]}}])",
       "items[0].status.containerStatuses[0].restartCount: integer out of range"},
      {R"([{"status":{"containerStatuses":[{"restartCount":1.5}]}}])",
       "items[0].status.containerStatuses[0].restartCount: expected an integer"},
  }));
  CHECK(ErrorOf(ParseList<Pod>(R"({"kind":"PodList","items":)" + row.items + "}").status()) == row.error);
}

template <typename T>
ListPage<T> MarkedList(const std::string& kind, const std::string& items) {
  absl::StatusOr<ListPage<T>> page =
      ParseList<T>(R"({"kind":")" + kind + R"(List","items":[)" + items + "]}", OnUnreadable::kMark);
  INFO(page.status().ToString());
  REQUIRE(page.ok());
  return *std::move(page);
}

TEST_CASE(
    "an object that cannot be parsed is marked and contains only its identity, and the other objects are complete") {
  const ListPage<Node> page =
      MarkedList<Node>("Node", R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"unschedulable":true}},
                 {"metadata":{"name":"b","uid":"u","resourceVersion":"7","labels":{"x":"y"},"annotations":{"k":"v"}},
                  "spec":{"unschedulable":"yes"}},
                 {"metadata":{"name":"c"}})");
  REQUIRE(page.items.size() == 3);
  CHECK(page.items[0] == Node{.name = "a", .labels = {{"x", "y"}}, .unschedulable = true});
  CHECK(page.items[1] == Node{.name = "b",
                              .uid = "u",
                              .resource_version = "7",
                              .labels = {{"x", "y"}},
                              .unreadable = "spec.unschedulable: expected a boolean, got a string"});
  CHECK(page.items[2] == Node{.name = "c"});
}

TEST_CASE("the unreadable part of an object may be part of its identity") {
  const auto [metadata, expected] = GENERATE(values<std::pair<std::string, Node>>({
      {R"("uid":1,"resourceVersion":"7","labels":{"x":"y"})",
       {.resource_version = "7",
        .labels = {{"x", "y"}},
        .unreadable = "metadata.uid: expected a string, got a number"}},
      {R"("uid":"u","resourceVersion":7,"labels":{"x":"y"})",
       {.uid = "u", .labels = {{"x", "y"}}, .unreadable = "metadata.resourceVersion: expected a string, got a number"}},
      {R"("uid":"u","labels":{"state":1,"x":"y"})",
       {.uid = "u", .unreadable = "metadata.labels.state: expected a string, got a number"}},
  }));
  Node node = expected;
  node.name = "n";
  CHECK(MarkedList<Node>("Node", R"({"metadata":{"name":"n",)" + metadata + "}}").items.front() == node);
}

TEST_CASE("objects of every kind can be marked as unreadable") {
  const Pod pod = MarkedList<Pod>("Pod", R"({"metadata":{"name":"p","namespace":"s","uid":"u","labels":{"x":"y"}},
                                             "spec":{"nodeName":"n"},"status":{"phase":1}})")
                      .items.front();
  CHECK(pod == Pod{.ref = {.ns = "s", .name = "p", .uid = "u"},
                   .node_name = "n",
                   .labels = {{"x", "y"}},
                   .unreadable = "status.phase: expected a string, got a number"});
  const Pod lost = MarkedList<Pod>("Pod", R"({"metadata":{"name":"p"},"spec":[]})").items.front();
  CHECK(lost == Pod{.ref = {.name = "p"}, .unreadable = "spec: expected an object, got an array"});
  const std::string meta = R"({"metadata":{"name":"o","namespace":"s","uid":"u","labels":{"x":"y"}},)";
  CHECK(MarkedList<DaemonSet>("DaemonSet", meta + R"("spec":7})").items.front() ==
        DaemonSet{.ns = "s",
                  .name = "o",
                  .uid = "u",
                  .labels = {{"x", "y"}},
                  .unreadable = "spec: expected an object, got a number"});
  CHECK(MarkedList<ControllerRevision>(
            "ControllerRevision",
            R"({"metadata":{"name":"o","namespace":"s","ownerReferences":[{"uid":"ds","controller":true}]},)"
            R"("revision":{}})")
            .items.front() ==
        ControllerRevision{
            .ns = "s", .name = "o", .owner_uid = "ds", .unreadable = "revision: expected an integer, got an object"});
  CHECK(MarkedList<PodDisruptionBudget>("PodDisruptionBudget", meta + R"("status":7})").items.front() ==
        PodDisruptionBudget{
            .ns = "s", .name = "o", .uid = "u", .unreadable = "status: expected an object, got a number"});
  CHECK(MarkedList<NodeMaintenance>("NodeMaintenance", meta + R"("spec":{"nodeName":"n","requestorID":1}})")
            .items.front() == NodeMaintenance{.ns = "s",
                                              .name = "o",
                                              .uid = "u",
                                              .node_name = "n",
                                              .unreadable = "spec.requestorID: expected a string, got a number"});
}

TEST_CASE("a list fails if the name of an object cannot be parsed, because the error could not name the object") {
  const auto [item, error] = GENERATE(values<std::pair<std::string, std::string>>({
      {R"({"metadata":{"name":1}})", "items[0].metadata.name: expected a string, got a number"},
      {R"({"metadata":{"uid":1}})", "items[0].metadata.name: expected a name, got nothing"},
      {R"({"metadata":{"name":"n","namespace":1}})", "items[0].metadata.namespace: expected a string, got a number"},
      {R"({"metadata":[]})", "items[0].metadata: expected an object, got an array"},
      {"7", "items[0]: expected an object, got a number"},
  }));
  CHECK(ErrorOf(ParseList<Pod>(R"({"kind":"PodList","items":[)" + item + "]}", OnUnreadable::kMark).status()) == error);
}

TEST_CASE("a Lease list fails if a Lease cannot be parsed, even with OnUnreadable::kMark") {
  CHECK_FALSE(
      ParseList<Lease>(R"({"kind":"LeaseList","items":[{"metadata":{"name":"l"},"spec":7}]})", OnUnreadable::kMark)
          .ok());
}

TEST_CASE("a document of another kind is not treated as an empty object") {
  CHECK(ErrorOf(ParseObject<Node>("{}").status()) == "kind: expected \"Node\", got nothing");
  CHECK(ErrorOf(ParseObject<Node>(R"({"kind":"Status","status":"Failure"})").status()) ==
        "kind: expected \"Node\", got \"Status\"");
  CHECK(ErrorOf(ParseList<Node>(R"({"kind":"PodList","items":[]})").status()) ==
        "kind: expected \"NodeList\", got \"PodList\"");
  CHECK(ErrorOf(ParseList<Node>("[]").status()) == "expected an object");
  CHECK(ErrorOf(ParseList<Node>("null").status()) == "expected an object");
}

TEST_CASE("a malformed document causes an error that contains the byte position") {
  struct Row {
    std::string name;
    std::string json;
    std::string error;
  };
  const std::string deep = R"({"kind":"Node","x":)";
  const auto row = GENERATE_COPY(values<Row>({
      {"empty", "", "malformed JSON at byte 0: the document is empty"},
      {"HTML", "<html>", "malformed JSON at byte 0: invalid value"},
      {"truncated", R"({"kind":"Node","metad)",
       "malformed JSON at byte 21: missing a closing quotation mark in string"},
      {"trailing", R"({"kind":"Node"}{})",
       "malformed JSON at byte 15: the document root must not be followed by other values"},
      {"comment", "{/**/}", "malformed JSON at byte 1: missing a name for object member"},
      {"NUL behind", std::string("{\"kind\":\"Node\"}\0junk", 20), "malformed JSON at byte 15: NUL"},
      {"NUL within", std::string("{\"kind\":\"No\0de\"}", 16), "malformed JSON at byte 11: NUL"},
      {"invalid UTF-8", "{\"kind\":\"No\xC3(\"}", "malformed JSON at byte 11: invalid encoding in string"},
      // RapidJSON does not stop at these errors, which the fuzz tests fuzz_answers, fuzz_objects, and
      // fuzz_watch_framing found.
      {"UTF-8 cut at the end", "{\"kind\":\"No\xF2", "malformed JSON at byte 11: invalid encoding in string"},
      {"UTF-8 cut before the end", "{\"kind\":\"No\xF2\n", "malformed JSON at byte 11: invalid encoding in string"},
      {"overlong UTF-8", "{\"kind\":\"No\xC0\xAF\"}", "malformed JSON at byte 11: invalid encoding in string"},
      {"lone surrogate", R"({"kind":"\ud800x"})", "malformed JSON at byte 9: the surrogate pair in string is invalid"},
      {"huge exponent", R"({"kind":1e999999999999})",
       "malformed JSON at byte 8: number too big to be stored in double"},
      {"a million arrays", deep + std::string(1'000'000, '['),
       "malformed JSON at byte 82: nested deeper than 64 levels"},
      {"a million objects",
       [&] {
         std::string json = deep;
         for (int i = 0; i < 1'000'000; ++i) json += R"({"a":)";
         return json;
       }(),
       "malformed JSON at byte 334: nested deeper than 64 levels"},
  }));
  CAPTURE(row.name);
  const std::string error = ErrorOf(ParseObject<Node>(row.json).status());
  CHECK(error == row.error);
  CHECK_FALSE(ParseApiStatus(row.json).has_value());
}

TEST_CASE("a raw control character at any position in a string causes an error") {
  const std::string before = R"({"kind":"Node","metadata":{"name":"n","labels":{"a":")";
  for (char control = 0; control < 0x20; ++control) {
    for (std::size_t place = 0; place < 40; ++place) {
      std::string value(40, 'x');
      value[place] = control;
      CAPTURE(static_cast<int>(control), place);
      REQUIRE(ErrorOf(ParseObject<Node>(before + value + R"("}}})").status())
                  .starts_with(fmt::format("malformed JSON at byte {}: ", before.size() + place)));
    }
  }
}

TEST_CASE("a pod tolerates the cordon if a toleration matches the taint of cordoned nodes") {
  const auto tolerates = [](const std::string& toleration) {
    const Pod pod = *ParseObject<Pod>(
        R"({"kind":"Pod","metadata":{"creationTimestamp":"1970-01-01T00:16:40Z"},"spec":{"tolerations":[)" +
        toleration + "]}}");
    CHECK(*ParseObject<Pod>(FormatObject(pod)) == pod);
    return pod.tolerates_cordon_since.has_value();
  };
  CHECK(tolerates(R"({"operator":"Exists"})"));
  CHECK(tolerates(R"({"operator":"Exists","effect":"NoSchedule"})"));
  CHECK(tolerates(R"({"key":"node.kubernetes.io/unschedulable","operator":"Exists","effect":"NoSchedule"})"));
  CHECK(tolerates(R"({"key":"node.kubernetes.io/unschedulable"})"));
  CHECK(tolerates(R"({"key":"nvidia.com/gpu","operator":"Exists"},{"operator":"Exists"})"));
  CHECK_FALSE(tolerates(""));
  CHECK_FALSE(tolerates(R"({"key":"nvidia.com/gpu","operator":"Exists"})"));
  CHECK_FALSE(tolerates(R"({"operator":"Exists","effect":"NoExecute"})"));
  CHECK_FALSE(tolerates(R"({"key":"node.kubernetes.io/unschedulable","operator":"Equal","value":"x"})"));
}

TEST_CASE("the containers of a terminating pod have ended if the kubelet reports so for all of them") {
  const auto ended = [](const std::string& statuses, const std::string& deleted = "2026-01-02T03:04:05Z") {
    const Pod pod = *ParseObject<Pod>(R"({"kind":"Pod","metadata":{"deletionTimestamp":")" + deleted +
                                      R"("},"status":{)" + statuses + "}}");
    CHECK(*ParseObject<Pod>(FormatObject(pod)) == pod);
    return pod.containers_ended;
  };
  const std::string one = R"({"name":"a","state":{"terminated":{"exitCode":137}}})";
  const std::string runs = R"({"name":"b","state":{"running":{}}})";
  CHECK(ended(R"("containerStatuses":[)" + one + "]"));
  CHECK(ended(R"("initContainerStatuses":[)" + one + R"(],"containerStatuses":[)" + one + "]"));
  CHECK_FALSE(ended(R"("containerStatuses":[)" + one + "," + runs + "]"));
  CHECK_FALSE(ended(R"("initContainerStatuses":[)" + runs + R"(],"containerStatuses":[)" + one + "]"));
  CHECK_FALSE(ended(R"("containerStatuses":[)" + one + R"(],"ephemeralContainerStatuses":[)" + runs + "]"));
  CHECK_FALSE(ended(R"("containerStatuses":[])"));
  CHECK_FALSE(ended(R"("containerStatuses":[)" + one + "]", ""));  // a pod that is not terminating may restart them
}

TEST_CASE("the kubelet has released a terminating pod if its grace period is zero") {
  const auto released = [](const std::string& metadata) {
    const Pod pod = *ParseObject<Pod>(R"({"kind":"Pod","metadata":{)" + metadata + "}}");
    CHECK(*ParseObject<Pod>(FormatObject(pod)) == pod);
    return pod.released;
  };
  const std::string deleted = R"("deletionTimestamp":"2026-01-02T03:04:05Z")";
  CHECK(released(deleted + R"(,"deletionGracePeriodSeconds":0)"));
  CHECK_FALSE(released(deleted + R"(,"deletionGracePeriodSeconds":30)"));
  CHECK_FALSE(released(deleted));
  CHECK_FALSE(released(R"("deletionGracePeriodSeconds":0)"));
}

TEST_CASE("unused members are skipped, but must be valid JSON") {
  for (const auto& [unread, error] : std::vector<std::pair<std::string, std::string>>{
           {R"("env")", ""},
           {R"([{"name":"nodeName","x":[[],{},{"name":{}}]},1,null,true,-7,1.5])", ""},
           {R"({"nodeName":"other","labels":{},"emptyDir":{}})", ""},
           {R"({"a":[1,})", "malformed JSON at byte 60: invalid value"},
           {"\"\xC3(\"", "malformed JSON at byte 53: invalid encoding in string"},
           {std::string(70, '['), "malformed JSON at byte 114: nested deeper than 64 levels"}}) {
    INFO(unread);
    const auto pod = ParseObject<Pod>(
        R"({"kind":"Pod","metadata":{"name":"a"},"spec":{"env":)" + unread + R"(,"volumes":[{"x":)" + unread +
        R"(,"emptyDir":{}}],"nodeName":"n"},"status":{"phase":"Running","x":)" + unread + "}}");
    if (error.empty()) {
      REQUIRE(pod.ok());
      CHECK(*pod == Pod{.ref = {.name = "a"},
                        .node_name = "n",
                        .phase = PodPhase::kRunning,
                        .has_empty_dir = true,
                        .volumes = {{.kind = "emptyDir"}}});
    } else {
      CHECK(pod.status().message() == error);
    }
  }
}

TEST_CASE("a label may have the same name as an unused member") {
  const auto pod = ParseObject<Pod>(
      R"({"kind":"Pod","metadata":{"name":"a","labels":{"env":"prod","managedFields":"x"},"managedFields":[{"labels":{}}]}})");
  REQUIRE(pod.ok());
  CHECK(pod->labels == StringMap{{"env", "prod"}, {"managedFields", "x"}});
}

TEST_CASE("64 levels of nesting are accepted, and so are huge numbers in unused members") {
  const std::string opened(63, '['), closed(63, ']');
  CHECK(ParseObject<Node>(R"({"kind":"Node","x":)" + opened + closed + "}").ok());
  CHECK_FALSE(ParseObject<Node>(R"({"kind":"Node","x":[)" + opened + closed + "]}").ok());
  CHECK(ParseObject<Node>(R"({"kind":"Node","x":[1e308,-1e308,1e-999999999999,)" + std::string(300, '9') + "]}").ok());
}

TEST_CASE("the parser refuses every proper prefix of a document, and does not crash") {
  const std::string_view whole = fixtures::kPod;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    REQUIRE_FALSE(ParseObject<Pod>(std::string(whole.substr(0, length))).ok());
  }
}

TEST_CASE("a wrong byte at any position of a document does not crash the parser") {
  for (const char wrong : {'\0', '"', '{', '\xFF', '9', '\\'}) {
    std::string json = fixtures::kPod;
    for (char& c : json) {
      const char right = std::exchange(c, wrong);
      (void)ParseObject<Pod>(json).ok();
      (void)ParseApiStatus(json);
      c = right;
    }
  }
}

TEST_CASE("a Status is parsed with its details") {
  const auto status = ParseApiStatus(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
    "message":"Cannot evict pod as it would violate the pod's disruption budget.","reason":"TooManyRequests",
    "details":{"name":"web","group":"policy","kind":"pods","causes":[{"reason":"DisruptionBudget","message":"m","field":"f"}],
    "retryAfterSeconds":10},"code":429})");
  REQUIRE(status.has_value());
  CHECK(*status == ApiStatus{.status = "Failure",
                             .code = 429,
                             .reason = "TooManyRequests",
                             .message = "Cannot evict pod as it would violate the pod's disruption budget.",
                             .details_group = "policy",
                             .details_kind = "pods",
                             .details_name = "web",
                             .causes = {{"DisruptionBudget", "m", "f"}},
                             .retry_after_seconds = 10});
}

// Tests rule api-A1.
TEST_CASE("the valid members of a Status are parsed, even if other members are invalid") {
  CHECK_FALSE(ParseApiStatus("Too many requests, please try again later.").has_value());
  CHECK_FALSE(ParseApiStatus(R"({"kind":"Pod"})").has_value());
  CHECK_FALSE(ParseApiStatus("[]").has_value());
  const auto status = ParseApiStatus(R"({"kind":"Status","code":"x","message":"m","details":[],"reason":7})");
  REQUIRE(status.has_value());
  CHECK(*status == ApiStatus{.message = "m"});
}

TEST_CASE("W9: Wants returns whether the node selector and affinity of a DaemonSet can match the labels of a node") {
  const auto wants = [](const std::string& pod_spec, const StringMap& labels) {
    const auto set = ParseObject<DaemonSet>(R"({"kind":"DaemonSet","spec":{"template":{"spec":{)" + pod_spec + "}}}}");
    REQUIRE(set.ok());
    return Wants(*set, {.labels = labels});
  };
  const std::string selector = R"("nodeSelector":{"gpu":"yes"})";
  const auto affinity = [](const std::string& terms) {
    return R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
           terms + "]}}}";
  };
  const std::string a = R"({"matchExpressions":[{"key":"os","operator":"In","values":["a"]}]})";
  const std::string b = R"({"matchExpressions":[{"key":"os","operator":"In","values":["b"]}]})";
  const std::string named = R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]})";
  CHECK(wants("", {}));
  CHECK(wants(selector, {{"gpu", "yes"}}));
  CHECK_FALSE(wants(selector, {{"gpu", "no"}}));
  CHECK(wants(affinity(a + "," + b), {{"os", "b"}}));
  CHECK_FALSE(wants(affinity(a + "," + b), {{"os", "c"}}));
  CHECK_FALSE(wants(selector + "," + affinity(a), {{"os", "a"}}));
  // A term with matchFields counts as matching, so only the node selector decides.
  CHECK(wants(affinity(named), {}));
  CHECK_FALSE(wants(selector + "," + affinity(a + "," + named), {{"os", "a"}}));
}

}  // namespace
}  // namespace driverupgrade
