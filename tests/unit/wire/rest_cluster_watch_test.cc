#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade {
namespace {

using Lines = std::vector<std::string>;

std::string NameOf(const Pod& pod) { return pod.ref.name; }
template <typename T>
std::string NameOf(const T& object) {
  return object.name;
}

// Records the calls as text, e.g. "list a,b @7", "change a @8", "delete a @9", or "bookmark @10".
template <typename T>
class Notebook final : public WatchSink<T> {
 public:
  bool OnList(std::vector<T> objects, std::string_view version) override {
    std::string names;
    for (const T& object : objects) names += (names.empty() ? "" : ",") + NameOf(object);
    return Note("list " + names, version);
  }
  bool OnChange(T object, std::string_view version) override { return Note("change " + NameOf(object), version); }
  bool OnDelete(T object, std::string_view version) override { return Note("delete " + NameOf(object), version); }
  bool OnBookmark(std::string_view version) override { return Note("bookmark", version); }

  Lines notes;
  // Text of the call after which the sink ends the watch.
  std::string enough;

 private:
  bool Note(std::string what, std::string_view version) {
    notes.push_back(what + " @" + std::string(version));
    return notes.back() != enough;
  }
};

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<ClusterFacade> cluster = MakeRestCluster(transport, {});
  CallContext context;
  Notebook<Node> nodes;

  absl::Status Watch(const WatchParams& params = {}) { return cluster->WatchNodes(context, params, nodes); }
};

std::string PageOf(Lines names, std::string version, std::string token = "") {
  ListPage<Node> page{.continue_token = std::move(token), .resource_version = std::move(version)};
  for (std::string& name : names) page.items.push_back({.name = std::move(name)});
  return FormatList(page);
}

std::string Event(const std::string& type, const std::string& name, const std::string& version,
                  const std::string& kind = "Node") {
  return R"({"type":")" + type + R"(","object":{"kind":")" + kind + R"(","metadata":{"name":")" + name +
         R"(","resourceVersion":")" + version + R"("}}})";
}

std::string ErrorEvent(const std::string& status) { return R"({"type":"ERROR","object":)" + status + "}"; }

constexpr char kWatch[] = "stream GET /api/v1/nodes?watch=1&resourceVersion=";
constexpr char kRest[] = "&allowWatchBookmarks=true&timeoutSeconds=300";

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("a watch first delivers the list, and then the changes after the version of the list") {
  World world;
  world.context.deadline = absl::FromUnixSeconds(9);
  world.transport->Answer(200, PageOf({"a", "b"}, "7"));
  world.transport->AnswerLines({Event("ADDED", "c", "8"), Event("MODIFIED", "a", "9"), Event("BOOKMARK", "", "12"),
                                Event("DELETED", "b", "13")});
  CHECK(world.Watch().ok());
  CHECK(world.nodes.notes == Lines{"list a,b @7", "change c @8", "change a @9", "bookmark @12", "delete b @13"});
  CHECK(world.transport->lines == Lines{"GET /api/v1/nodes?limit=500", std::string(kWatch) + "7" + kRest});
  CHECK(world.transport->deadlines == std::vector<absl::Time>(2, absl::FromUnixSeconds(9)));
  CHECK(world.transport->requests[1].body.empty());
}

TEST_CASE("api-A8: all pages form one list, at the version of the first page") {
  World world;
  world.transport->Answer(200, PageOf({"a"}, "7", "t1"));
  world.transport->Answer(200, PageOf({}, "7", "t2"));
  world.transport->Answer(200, PageOf({"b"}, "7"));
  world.transport->AnswerLines({});
  CHECK(world.Watch().ok());
  CHECK(world.nodes.notes == Lines{"list a,b @7"});
  CHECK(world.transport->lines == Lines{"GET /api/v1/nodes?limit=500", "GET /api/v1/nodes?limit=500&continue=t1",
                                        "GET /api/v1/nodes?limit=500&continue=t2", std::string(kWatch) + "7" + kRest});
}

TEST_CASE("api-A9: a list that expires before the watch starts is retried once, and delivered once") {
  World world;
  world.transport->Answer(200, PageOf({"old"}, "7", "t1"));
  world.transport->Answer(410, StatusBody(410, "Expired", "too old"));
  SECTION("the retry succeeds") {
    world.transport->Answer(200, PageOf({"new"}, "9"));
    world.transport->AnswerLines({});
    CHECK(world.Watch().ok());
    CHECK(world.nodes.notes == Lines{"list new @9"});
    CHECK(world.transport->lines.back() == std::string(kWatch) + "9" + kRest);
  }
  SECTION("the retry fails, and the list is not retried again") {
    world.transport->Answer(410, "");
    const absl::Status status = world.Watch();
    CHECK(absl::IsUnavailable(status));
    CHECK(Text(status) == "watch nodes: list: 410 Expired");
    CHECK(world.nodes.notes.empty());
  }
}

TEST_CASE("if no list is requested, only the version is read") {
  World world;
  world.transport->Answer(200, PageOf({"a"}, "7", "more"));
  world.transport->AnswerLines({Event("MODIFIED", "a", "8")});
  CHECK(world.Watch({.label_selector = *LabelSelector::Parse("a in (x,y)"), .list = false}).ok());
  CHECK(world.nodes.notes == Lines{"list  @7", "change a @8"});
  const std::string selector = "labelSelector=a%20in%20%28x%2Cy%29";
  CHECK(world.transport->lines == Lines{"GET /api/v1/nodes?" + selector + "&limit=1",
                                        "stream GET /api/v1/nodes?" + selector + "&watch=1&resourceVersion=7" + kRest});
}

TEST_CASE("api-A14: a watch that continues requests only later changes") {
  World world;
  const bool list = GENERATE(true, false);
  world.transport->AnswerLines({Event("BOOKMARK", "", "99")});
  CHECK(world.Watch({.resource_version = "12", .list = list}).ok());
  CHECK(world.nodes.notes == Lines{"bookmark @99"});
  CHECK(world.transport->lines == Lines{std::string(kWatch) + "12" + kRest});
}

TEST_CASE("each kind is watched at its path, in one namespace or in all") {
  World world;
  Notebook<Pod> pods;
  Notebook<DaemonSet> daemon_sets;
  Notebook<ControllerRevision> revisions;
  Notebook<NodeMaintenance> maintenances;
  const auto begin = [&](const std::string& kind) {
    world.transport->AnswerLines({Event("ADDED", "x", "8", kind)});
    return WatchParams{.ns = "gpu", .resource_version = "7", .timeout = absl::Seconds(60)};
  };
  CHECK(world.cluster->WatchPods(world.context, begin("Pod"), pods).ok());
  CHECK(world.cluster->WatchDaemonSets(world.context, begin("DaemonSet"), daemon_sets).ok());
  CHECK(world.cluster->WatchControllerRevisions(world.context, begin("ControllerRevision"), revisions).ok());
  CHECK(world.cluster->WatchNodeMaintenances(world.context, begin("NodeMaintenance"), maintenances).ok());
  CHECK(world.Watch(begin("Node")).ok());
  for (const Lines& notes : {pods.notes, daemon_sets.notes, revisions.notes, maintenances.notes, world.nodes.notes}) {
    CHECK(notes == Lines{"change x @8"});
  }
  const std::string rest = "?watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=60";
  CHECK(world.transport->lines ==
        Lines{"stream GET /api/v1/namespaces/gpu/pods" + rest,
              "stream GET /apis/apps/v1/namespaces/gpu/daemonsets" + rest,
              "stream GET /apis/apps/v1/namespaces/gpu/controllerrevisions" + rest,
              "stream GET /apis/maintenance.nvidia.com/v1alpha1/namespaces/gpu/nodemaintenances" + rest,
              "stream GET /api/v1/nodes" + rest});
  world.transport->Answer(200, FormatList(ListPage<DaemonSet>{.resource_version = "7"}));
  world.transport->AnswerLines({});
  CHECK(world.cluster->WatchDaemonSets(world.context, {}, daemon_sets).ok());
  CHECK(world.transport->lines.back() ==
        "stream GET /apis/apps/v1/daemonsets?watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=300");
}

TEST_CASE("api-A15: the timeout is sent to the server in whole seconds, within the server's limits") {
  using Row = std::pair<absl::Duration, std::string>;
  const auto [timeout, seconds] = GENERATE(values<Row>({
      {absl::Seconds(60), "60"},
      {absl::Milliseconds(1001), "2"},
      {absl::ZeroDuration(), "1"},
      {-absl::InfiniteDuration(), "1"},
      {absl::InfiniteDuration(), "2147483647"},
  }));
  World world;
  world.transport->AnswerLines({});
  CHECK(world.Watch({.resource_version = "7", .timeout = timeout}).ok());
  CHECK(world.transport->requests[0].query.back() == std::pair<std::string, std::string>{"timeoutSeconds", seconds});
}

TEST_CASE("a sink can end the watch successfully, and is not called again") {
  World world;
  world.nodes.enough = GENERATE(as<std::string>(), "list a @7", "change b @8", "delete b @9", "bookmark @10");
  world.transport->Answer(200, PageOf({"a"}, "7"));
  world.transport->AnswerLines({Event("ADDED", "b", "8"), Event("DELETED", "b", "9"), Event("BOOKMARK", "", "10"),
                                Event("ADDED", "c", "11"), "garbage"});
  CHECK(world.Watch().ok());
  CHECK(world.nodes.notes.back() == world.nodes.enough);
  CHECK(world.transport->lines.size() == (world.nodes.enough == "list a @7" ? 1 : 2));
}

TEST_CASE(
    "api-A16: a watch returns OutOfRange if its version is too old, whether a response or an event reports this") {
  World world;
  const std::string text = "too old resource version: 7 (99)";
  SECTION("410 as the response") {
    world.transport->Answer(410, StatusBody(410, "Expired", text));
    const absl::Status status = world.Watch({.resource_version = "7"});
    CHECK(absl::IsOutOfRange(status));
    CHECK(Text(status) == "watch nodes: 410 Expired: " + text);
  }
  SECTION("410 without a body") {
    world.transport->Answer(410, "");
    CHECK(absl::IsOutOfRange(world.Watch({.resource_version = "7"})));
  }
  SECTION("an error event with the complete Status") {
    world.transport->AnswerLines({Event("ADDED", "a", "8"), ErrorEvent(StatusBody(410, "Expired", text))});
    const absl::Status status = world.Watch({.resource_version = "7"});
    CHECK(absl::IsOutOfRange(status));
    CHECK(Text(status) == "watch nodes: 410 Expired: " + text);
    CHECK(world.nodes.notes == Lines{"change a @8"});
  }
  SECTION("an error event with only the reason") {
    const std::string reason = GENERATE(as<std::string>(), "Gone", "Expired");
    world.transport->AnswerLines({ErrorEvent(R"({"kind":"Status","reason":")" + reason + R"("})")});
    const absl::Status status = world.Watch({.resource_version = "7"});
    CHECK(absl::IsOutOfRange(status));
    CHECK(Text(status) == "watch nodes: 410 " + reason);
  }
}

TEST_CASE("after any other error event, a watch returns the code of the event's Status") {
  struct Row {
    std::string object;
    absl::StatusCode code;
    std::string text;
  };
  using absl::StatusCode;
  const auto row = GENERATE(values<Row>({
      {StatusBody(429, "TooManyRequests", "busy"), StatusCode::kResourceExhausted, "429 TooManyRequests: busy"},
      {StatusBody(403, "Forbidden", "no"), StatusCode::kPermissionDenied, "403 Forbidden: no"},
      {StatusBody(401, "Unauthorized", "expired"), StatusCode::kUnauthenticated, "401 Unauthorized: expired"},
      {StatusBody(500, "InternalError", "etcd"), StatusCode::kUnavailable, "500 InternalError: etcd"},
      {StatusBody(504, "Timeout", "Too large resource version"), StatusCode::kUnavailable,
       "504 Timeout: Too large resource version"},
      {R"({"kind":"Status","message":"why"})", StatusCode::kUnavailable, "500 InternalError: why"},
      {R"({"kind":"Status","code":200})", StatusCode::kUnavailable, "500 InternalError"},
      {"{}", StatusCode::kUnavailable, "500 InternalError"},
      {"null", StatusCode::kUnavailable, "500 InternalError"},
  }));
  World world;
  world.transport->AnswerLines({ErrorEvent(row.object), Event("ADDED", "late", "9")});
  const absl::Status status = world.Watch({.resource_version = "7"});
  CHECK(status.code() == row.code);
  CHECK(Text(status) == "watch nodes: " + row.text);
  CHECK(world.nodes.notes.empty());
}

TEST_CASE("the Retry-After time is kept from responses and from events") {
  World world;
  const std::string body = StatusBody(429, "TooManyRequests", "busy", R"("retryAfterSeconds":3)");
  if (GENERATE(true, false)) {
    world.transport->Answer(429, body);
  } else {
    world.transport->AnswerLines({ErrorEvent(body)});
  }
  CHECK(RetryAfter(world.Watch({.resource_version = "7"})) == absl::Seconds(3));
}

TEST_CASE("a refused watch returns the code that ClusterFacade documents") {
  using Row = std::pair<int, absl::StatusCode>;
  const auto [http, code] = GENERATE(values<Row>({{400, absl::StatusCode::kInvalidArgument},
                                                  {403, absl::StatusCode::kPermissionDenied},
                                                  {404, absl::StatusCode::kNotFound},
                                                  {429, absl::StatusCode::kResourceExhausted},
                                                  {302, absl::StatusCode::kUnavailable},
                                                  {504, absl::StatusCode::kUnavailable}}));
  World world;
  world.transport->Answer(http, "");
  const absl::Status status = world.Watch({.resource_version = "7"});
  CHECK(status.code() == code);
  CHECK(Text(status).starts_with("watch nodes: " + std::to_string(http)));
}

TEST_CASE("a watch fails if its list fails, and delivers no objects") {
  World world;
  const bool list = GENERATE(true, false);
  SECTION("the list is refused") {
    world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot list"));
    const absl::Status status = world.Watch({.list = list});
    CHECK(absl::IsPermissionDenied(status));
    CHECK(Text(status) == "watch nodes: list: 403 Forbidden: cannot list");
  }
  SECTION("the list has no version to continue from") {
    world.transport->Answer(200, PageOf({"a"}, ""));
    const absl::Status status = world.Watch({.list = list});
    CHECK(absl::IsUnavailable(status));
    CHECK(Text(status) == "watch nodes: list: cannot parse the response: the list has no resource version");
  }
  SECTION("the response is not a list") {
    world.transport->Answer(200, "<html>");
    CHECK(absl::IsUnavailable(world.Watch({.list = list})));
  }
  CHECK(world.nodes.notes.empty());
  CHECK(world.transport->lines.size() == 1);
}

TEST_CASE("a line that cannot be parsed ends the watch, and all earlier lines are delivered") {
  World world;
  const std::string garbage = GENERATE(as<std::string>(), "garbage", "{}", Event("ADDED", "p", "9", "Pod"),
                                       Event("BOOKMARK", "", ""), R"({"type":"ADDED","object":null})");
  world.transport->AnswerLines({Event("ADDED", "a", "8"), garbage, Event("ADDED", "late", "10")});
  const absl::Status status = world.Watch({.resource_version = "7"});
  CHECK(absl::IsUnavailable(status));
  CHECK(Text(status).starts_with("watch nodes: cannot parse the response: "));
  CHECK(world.nodes.notes == Lines{"change a @8"});
}

// Makes an event unreadable by adding a member of the wrong type.
std::string Bad(std::string event) { return event.replace(event.rfind("}}"), 0, R"(,"spec":7)"); }

TEST_CASE("a watch with OnUnreadable::kMark continues past an object that cannot be read") {
  World world;
  const Lines events = {Event("ADDED", "a", "8"), Bad(Event("MODIFIED", "a", "9")), Bad(Event("DELETED", "a", "10")),
                        Event("ADDED", "b", "11")};
  SECTION("the object is marked") {
    world.transport->AnswerLines(events);
    CHECK(world.Watch({.resource_version = "7", .on_unreadable = OnUnreadable::kMark}).ok());
    CHECK(world.nodes.notes == Lines{"change a @8", "change a @9", "delete a @10", "change b @11"});
  }
  SECTION("by default the watch ends") {
    world.transport->AnswerLines(events);
    CHECK(Text(world.Watch({.resource_version = "7"})) ==
          "watch nodes: cannot parse the response: object.spec: expected an object, got a number");
    CHECK(world.nodes.notes == Lines{"change a @8"});
  }
}

TEST_CASE("a list with OnUnreadable::kMark contains unreadable objects, even at the start of a watch") {
  World world;
  const std::string page =
      R"({"kind":"NodeList","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"},"spec":7},)"
      R"({"metadata":{"name":"b"}}]})";
  world.transport->Answer(200, page);
  world.transport->AnswerLines({});
  CHECK(world.Watch({.on_unreadable = OnUnreadable::kMark}).ok());
  CHECK(world.nodes.notes == Lines{"list a,b @7"});
  world.transport->Answer(200, page);
  const auto nodes = world.cluster->ListNodes(world.context, {.on_unreadable = OnUnreadable::kMark});
  REQUIRE(nodes.ok());
  CHECK(nodes->front().unreadable == "spec: expected an object, got a number");
  world.transport->Answer(200, page);
  CHECK(Text(world.cluster->ListNodes(world.context, {}).status()) ==
        "list nodes: cannot parse the response: items[0].spec: expected an object, got a number");
}

TEST_CASE("api-A12: an event of an unknown type is skipped") {
  World world;
  world.transport->AnswerLines({Event("RENAMED", "a", "8"), R"({"type":"PING"})", Event("ADDED", "b", "9")});
  CHECK(world.Watch({.resource_version = "7"}).ok());
  CHECK(world.nodes.notes == Lines{"change b @9"});
}

TEST_CASE("an error from the transport keeps its code, and all earlier lines are delivered") {
  const auto code = GENERATE(absl::StatusCode::kUnavailable, absl::StatusCode::kCancelled,
                             absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kOutOfRange);
  World world;
  world.transport->AnswerLines({Event("ADDED", "a", "8")}, absl::Status(code, "connection"));
  const absl::Status status = world.Watch({.label_selector = *LabelSelector::Parse("a=b"), .resource_version = "7"});
  CHECK(status.code() == code);
  CHECK(Text(status) == "watch nodes with labels a=b: connection");
  CHECK(world.nodes.notes == Lines{"change a @8"});
}

TEST_CASE("a selector that matches nothing yields an empty list without a request") {
  World world;
  const bool list = GENERATE(true, false);
  CHECK(world.Watch({.label_selector = LabelSelector::Nothing(), .list = list}).ok());
  CHECK(world.nodes.notes == Lines{"list  @"});
  CHECK(world.Watch({.label_selector = LabelSelector::Nothing(), .resource_version = "7", .list = list}).ok());
  CHECK(world.nodes.notes.size() == 1);
  CHECK(world.transport->lines.empty());
}

TEST_CASE("a namespace cannot change the path of a watch, and node watches have no namespace") {
  World world;
  Notebook<Pod> pods;
  const absl::Status status = world.cluster->WatchPods(world.context, {.ns = "../secrets"}, pods);
  CHECK(absl::IsInvalidArgument(status));
  CHECK(RequestWasNotSent(status));
  CHECK(world.transport->lines.empty());
  world.transport->AnswerLines({});
  CHECK(world.Watch({.ns = "../secrets", .resource_version = "7"}).ok());
  CHECK(world.transport->lines == Lines{std::string(kWatch) + "7" + kRest});
}

}  // namespace
}  // namespace driverupgrade
