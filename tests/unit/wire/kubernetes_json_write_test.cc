#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"
#include "unit/wire/fixtures.h"

namespace driverupgrade {
namespace {

const PodRef kWeb{"shop", "web-1", "u-1"};

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

TEST_CASE("a node patch contains the uid and version, and null for removed members") {
  CHECK(FormatNodePatch({.name = "gpu-7",
                         .uid = "u-7",
                         .resource_version = "42",
                         .labels = {{"state", "cordon-required"}, {"old", std::nullopt}},
                         .annotations = {{"a/b", "say \"hi\"\n"}, {"empty", ""}},
                         .unschedulable = true}) == R"({"metadata":{"uid":"u-7","resourceVersion":"42",)"
                                                    R"("labels":{"old":null,"state":"cordon-required"},)"
                                                    R"("annotations":{"a/b":"say \"hi\"\n","empty":""}},)"
                                                    R"("spec":{"unschedulable":true}})");
}

TEST_CASE("an uncordon is written as null, as in drain-D54, and unchanged members are not written") {
  CHECK(FormatNodePatch({.name = "n", .uid = "u", .resource_version = "1", .unschedulable = false}) ==
        R"({"metadata":{"uid":"u","resourceVersion":"1"},"spec":{"unschedulable":null}})");
  CHECK(FormatNodePatch({.name = "n", .uid = "u", .resource_version = "1"}) ==
        R"({"metadata":{"uid":"u","resourceVersion":"1"}})");
}

TEST_CASE("B-13: a node patch writes all taints, or null if there are no taints") {
  CHECK(FormatNodePatch(
            {.name = "n",
             .uid = "u",
             .resource_version = "1",
             .unschedulable = true,
             .taints = std::vector<Taint>{{.key = "a", .effect = "NoExecute", .time_added = "2026-01-02T03:04:05Z"},
                                          {.key = "b", .value = "pending", .effect = "PreferNoSchedule"}}}) ==
        R"({"metadata":{"uid":"u","resourceVersion":"1"},"spec":{"unschedulable":true,"taints":[)"
        R"({"key":"a","effect":"NoExecute","timeAdded":"2026-01-02T03:04:05Z"},)"
        R"({"key":"b","value":"pending","effect":"PreferNoSchedule"}]}})");
  CHECK(FormatNodePatch({.name = "n", .uid = "u", .resource_version = "1", .taints = std::vector<Taint>()}) ==
        R"({"metadata":{"uid":"u","resourceVersion":"1"},"spec":{"taints":null}})");
}

TEST_CASE("evictions and deletions contain the UID as a precondition") {
  CHECK(FormatEviction({.pod = kWeb}) ==
        R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web-1","namespace":"shop"},)"
        R"("deleteOptions":{"preconditions":{"uid":"u-1"}}})");
  CHECK(FormatDeleteOptions({.pod = kWeb}) ==
        R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u-1"}})");
  CHECK(FormatDeleteOptions({.pod = kWeb, .force = true}) ==
        R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,"preconditions":{"uid":"u-1"}})");
}

RecordEventParams NodeEvent() {
  return {.node_name = "gpu-7",
          .node_uid = "u-7",
          .reason = "GPUDriverUpgrade",
          .message = "state is now cordon-required",
          .time = absl::FromUnixSeconds(1767323045)};
}

std::string NameOf(const RecordEventParams& params) {
  const std::string json = FormatEvent(params, "c");
  const std::string marker = R"("metadata":{"name":")";
  const std::size_t start = json.find(marker) + marker.size();
  return json.substr(start, json.find('"', start) - start);
}

// Tests rule api-A46.
TEST_CASE("an Event on a node is created in the namespace default") {
  CHECK(EventNamespace(NodeEvent()) == "default");
  CHECK(FormatEvent(NodeEvent(), "gpu-operator") ==
        R"({"apiVersion":"v1","kind":"Event",)"
        R"("metadata":{"name":")" +
            NameOf(NodeEvent()) +
            R"(","namespace":"default"},)"
            R"("involvedObject":{"kind":"Node","apiVersion":"v1","name":"gpu-7","uid":"u-7"},)"
            R"("reason":"GPUDriverUpgrade","message":"state is now cordon-required","type":"Normal",)"
            R"("source":{"component":"gpu-operator"},"reportingComponent":"gpu-operator","reportingInstance":"",)"
            R"("firstTimestamp":"2026-01-02T03:04:05Z","lastTimestamp":"2026-01-02T03:04:05Z","count":1})");
}

TEST_CASE("an Event on a pod is created in the pod's namespace") {
  RecordEventParams params = NodeEvent();
  params.pod = kWeb;
  params.type = EventType::kWarning;
  CHECK(EventNamespace(params) == "shop");
  const std::string json = FormatEvent(params, "gpu-operator");
  CHECK(Contains(json, R"("namespace":"shop"},"involvedObject":{"kind":"Pod","apiVersion":"v1",)"
                       R"("namespace":"shop","name":"web-1","uid":"u-1"})"));
  CHECK(Contains(json, R"("type":"Warning")"));
  CHECK(NameOf(params).starts_with("web-1."));
}

// Tests rule api-A45.
TEST_CASE("an event's name is the object's name, a dot, the hexadecimal time, and a hash, and is unique to the event") {
  const RecordEventParams params = NodeEvent();
  const std::string name = NameOf(params);
  CHECK(name.substr(0, 6) == "gpu-7.");
  REQUIRE(name.size() == 6 + 16 + 8);
  CHECK(std::stoull(name.substr(6, 16), nullptr, 16) == std::uint64_t{1767323045} * 1'000'000'000);
  CHECK(NameOf(params) == name);
  RecordEventParams other = params;
  other.message = "state is now uncordon-required";
  CHECK(NameOf(other) != name);
  other = params;
  other.type = EventType::kWarning;
  CHECK(NameOf(other) != name);
}

TEST_CASE("api-A48: an event of a series has the name of the first event") {
  const RecordEventParams first = NodeEvent();
  RecordEventParams last = first;
  last.message = "something else";
  last.time += absl::Seconds(10);
  last.series = {.count = 3, .first_time = first.time, .first_message = first.message};
  CHECK(EventName(last) == NameOf(first));
  CHECK(NameOf(last) == NameOf(first));
  CHECK(Contains(FormatEvent(last, "c"), R"("message":"something else")"));
  CHECK(Contains(FormatEvent(last, "c"),
                 R"("firstTimestamp":"2026-01-02T03:04:05Z","lastTimestamp":"2026-01-02T03:04:15Z","count":3})"));
  CHECK(FormatEventPatch(last) == R"({"message":"something else","lastTimestamp":"2026-01-02T03:04:15Z","count":3})");
}

TEST_CASE("W31: the names of Events on one object sort by time, with a resolution of a nanosecond") {
  RecordEventParams params = NodeEvent();
  std::string before = NameOf(params);
  for (const char* state : {"wait-for-jobs-required", "pod-deletion-required", "drain-required", "upgrade-done"}) {
    params.message = std::string("state is now ") + state;
    params.time += absl::Nanoseconds(1);
    CHECK(before < NameOf(params));
    before = NameOf(params);
  }
}

// Tests rule api-A53.
TEST_CASE("an event's name and message stay within the limits of the API") {
  RecordEventParams params = NodeEvent();
  params.node_name = std::string(235, 'n') + "." + std::string(17, 'm');
  CHECK(NameOf(params).size() == 253);
  params.node_name[228] = '.';
  CHECK(NameOf(params).substr(0, 229) == std::string(228, 'n') + ".");
  params.node_name[227] = '.';
  // 227 characters of the node name and a suffix of 25. The dot at the cut is dropped, because two consecutive dots are
  // invalid.
  CHECK(NameOf(params).size() == 252);
  params.message = std::string(1023, 'm') + "µ and more";
  CHECK(Contains(FormatEvent(params, "c"), "\"message\":\"" + std::string(1023, 'm') + "\","));
  params.time = absl::InfiniteFuture();
  CHECK(Contains(FormatEvent(params, "c"), R"("firstTimestamp":null,"lastTimestamp":null)"));
}

TEST_CASE("output is valid UTF-8 and has no raw control characters") {
  const std::string patch = FormatNodePatch(
      {.name = "n", .uid = "u", .resource_version = "1", .annotations = {{"k", "a\xFF\xC3(\xED\xA0\x80\x01z"}}});
  const std::string replaced = "\xEF\xBF\xBD";
  CHECK(Contains(patch, "\"k\":\"a" + replaced + replaced + "(" + replaced + replaced + replaced + "\\u0001z\""));
}

// The text is longer than a block of the fast path. The control character is at each position of the text in turn.
TEST_CASE("a control character is escaped at any position, and the text is read back unchanged") {
  for (char control = 0; control < 0x20; ++control) {
    for (std::size_t place = 0; place < 40; ++place) {
      Node node{.name = "n", .annotations = {{"notes", std::string(40, 'x')}}};
      node.annotations["notes"][place] = control;
      const std::string json = FormatObject(node);
      CAPTURE(static_cast<int>(control), place);
      REQUIRE(std::all_of(json.begin(), json.end(), [](char c) { return c >= 0x20; }));
      REQUIRE(ParseObject<Node>(json)->annotations == node.annotations);
    }
  }
}

TEST_CASE("an object that is written and read again is unchanged") {
  const Node node = *ParseObject<Node>(fixtures::kNode);
  CHECK(*ParseObject<Node>(FormatObject(node)) == node);
  CHECK(*ParseObject<Node>(FormatObject(Node{})) == Node{});
  const Pod pod = *ParseObject<Pod>(fixtures::kPod);
  CHECK(*ParseObject<Pod>(FormatObject(pod)) == pod);
  CHECK(*ParseObject<Pod>(FormatObject(Pod{})) == Pod{});
  const auto revision = *ParseObject<ControllerRevision>(fixtures::kControllerRevision);
  CHECK(*ParseObject<ControllerRevision>(FormatObject(revision)) == revision);
  const auto budget = *ParseObject<PodDisruptionBudget>(fixtures::kBudget);
  CHECK(*ParseObject<PodDisruptionBudget>(FormatObject(budget)) == budget);
  const auto daemon_set = ParseList<DaemonSet>(fixtures::kDaemonSetList)->items.at(0);
  CHECK(*ParseObject<DaemonSet>(FormatObject(daemon_set)) == daemon_set);
  DaemonSet choosy = daemon_set;
  choosy.node_selectors = {*LabelSelector::Parse("gpu=yes,os in (a,b)"), *LabelSelector::Parse("!gpu")};
  CHECK(*ParseObject<DaemonSet>(FormatObject(choosy)) == choosy);
}

TEST_CASE("a selector that is written and read again is unchanged") {
  const auto selector = GENERATE(values<LabelSelector>({
      LabelSelector::Nothing(),
      LabelSelector(),
      LabelSelector::FromMatchLabels({{"a", "1"}, {"b", ""}}),
      *LabelSelector::Parse("a=1,a=2"),
      *LabelSelector::Parse("a in (x,y),!b,c,d notin (z)"),
  }));
  const PodDisruptionBudget budget{.ns = "ns", .name = "b", .selector = selector};
  CHECK(*ParseObject<PodDisruptionBudget>(FormatObject(budget)) == budget);
}

TEST_CASE("a page that is written and read again is unchanged") {
  const ListPage<Node> page{
      .items = {{.name = "a"}, {.name = "b", .ready = false}}, .continue_token = "next", .resource_version = "7"};
  CHECK(*ParseList<Node>(FormatList(page)) == page);
  CHECK(*ParseList<Node>(FormatList(ListPage<Node>{})) == ListPage<Node>{});
}

TEST_CASE("the PodGroup with which a pod is scheduled is parsed, and written again") {
  const Pod pod = *ParseObject<Pod>(
      R"({"kind":"Pod","metadata":{"namespace":"team","name":"worker-0"},"spec":{"schedulingGroup":{"podGroupName":"workers"}}})");
  CHECK(pod.pod_group == "workers");
  CHECK(*ParseObject<Pod>(FormatObject(pod)) == pod);
  CHECK(ParseObject<Pod>(R"({"kind":"Pod","spec":{"schedulingGroup":{}}})")->pod_group.empty());
}

}  // namespace
}  // namespace driverupgrade
