#include "driverupgrade/kubernetes/rest_cluster.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"
#include "unit/wire/fixtures.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade {
namespace {

using Lines = std::vector<std::string>;

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<ClusterFacade> cluster = MakeRestCluster(transport, {.event_component = "gpu-operator"});
  CallContext context;
};

const PodRef kWeb{"shop", "web-1", "u-1"};
const PatchNodeParams kPatch{.name = "gpu-7", .uid = "u-7", .resource_version = "42", .unschedulable = true};
constexpr char kUidConflict[] =
    "Operation cannot be fulfilled on Pod \\\"web-1\\\": the UID in the precondition (u-1) does not match "
    "the "
    "UID in record (u-2). The object might have been deleted and then recreated";

template <typename T>
std::string PageOf(std::vector<T> items, std::string token = "") {
  return FormatList(ListPage<T>{.items = std::move(items), .continue_token = std::move(token)});
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("a request is sent once, with the caller's deadline") {
  World world;
  CHECK(world.cluster->Supports(Operation::kGetNode));
  CHECK(world.cluster->Supports(Operation::kRecordEvent));
  world.context.deadline = absl::FromUnixSeconds(1);
  world.transport->Answer(200, fixtures::kNode);
  CHECK(world.cluster->GetNode(world.context, {.name = "gpu-7"})->name == "gpu-7");
  CHECK(world.transport->deadlines == std::vector<absl::Time>{absl::FromUnixSeconds(1)});
}

// Tests rule api-A10.
TEST_CASE("reads use the right paths and queries") {
  World world;
  world.transport->Answer(200, fixtures::kNode);
  CHECK(world.cluster->GetNode(world.context, {.name = "gpu-7"})->uid == "0a6b9c1e-6f0a-4f0c-9d4c-3b1c1f1f7e07");
  world.transport->Answer(200, fixtures::kPod);
  CHECK(world.cluster->GetPod(world.context, {"gpu-operator", "driver-x7k2p"})->node_name == "gpu-7");
  world.transport->Answer(200, PageOf<Node>({{.name = "a"}, {.name = "b"}}));
  CHECK(world.cluster->ListNodes(world.context, {})->size() == 2);
  world.transport->Answer(200, PageOf<Node>({}));
  CHECK(world.cluster->ListNodes(world.context, {.label_selector = *LabelSelector::Parse("b,a in (x,y)")})->empty());
  world.transport->Answer(200, PageOf<Pod>({}));
  CHECK(world.cluster->ListPods(world.context, {})->empty());
  world.transport->Answer(200, PageOf<Pod>({{.ref = kWeb}}));
  CHECK(world.cluster
            ->ListPods(world.context, {.ns = "shop",
                                       .label_selector = LabelSelector::FromMatchLabels({{"app", "web"}}),
                                       .node_name = "gpu-7"})
            ->at(0)
            .ref == kWeb);
  world.transport->Answer(200, fixtures::kDaemonSetList);
  CHECK(world.cluster->ListDaemonSets(world.context, {.ns = "gpu-operator"})->at(0).name == "driver");
  world.transport->Answer(200, PageOf<ControllerRevision>({}));
  CHECK(world.cluster->ListControllerRevisions(world.context, {.ns = "gpu-operator"})->empty());
  world.transport->Answer(200, PageOf<PodDisruptionBudget>({}));
  CHECK(world.cluster->ListPodDisruptionBudgets(world.context, {})->empty());
  world.transport->Answer(200, PageOf<PodDisruptionBudget>({}));
  CHECK(world.cluster->ListPodDisruptionBudgets(world.context, {.ns = "shop"})->empty());
  CHECK(world.transport->lines ==
        Lines{"GET /api/v1/nodes/gpu-7", "GET /api/v1/namespaces/gpu-operator/pods/driver-x7k2p",
              "GET /api/v1/nodes?limit=500", "GET /api/v1/nodes?labelSelector=a%20in%20%28x%2Cy%29%2Cb&limit=500",
              "GET /api/v1/pods?limit=500",
              "GET "
              "/api/v1/namespaces/shop/"
              "pods?fieldSelector=spec.nodeName%3Dgpu-7&labelSelector=app%3Dweb&limit=500",
              "GET /apis/apps/v1/namespaces/gpu-operator/daemonsets?limit=500",
              "GET /apis/apps/v1/namespaces/gpu-operator/controllerrevisions?limit=500",
              "GET /apis/policy/v1/poddisruptionbudgets?limit=500",
              "GET /apis/policy/v1/namespaces/shop/poddisruptionbudgets?limit=500"});
  for (const HttpRequest& request : world.transport->requests) CHECK(request.body.empty());
}

TEST_CASE("field values are escaped, and a selector that matches nothing returns an empty list without a request") {
  World world;
  world.transport->Answer(200, PageOf<Pod>({}));
  CHECK(world.cluster->ListPods(world.context, {.node_name = "a,b=c\\d"}).ok());
  CHECK(world.transport->lines ==
        Lines{"GET /api/v1/pods?fieldSelector=spec.nodeName%3Da%5C%2Cb%5C%3Dc%5C%5Cd&limit=500"});
  CHECK(world.cluster->ListNodes(world.context, {.label_selector = LabelSelector::Nothing()})->empty());
  CHECK(world.transport->lines.size() == 1);
}

TEST_CASE("a list continues as long as there is a continue token, even after empty pages") {
  World world;
  world.cluster = MakeRestCluster(world.transport, {.page_size = 2});
  world.transport->Answer(200, PageOf<Node>({{.name = "a"}, {.name = "b"}}, "t/1="));
  world.transport->Answer(200, PageOf<Node>({}, "t2"));
  world.transport->Answer(200, PageOf<Node>({{.name = "c"}}));
  const auto nodes = world.cluster->ListNodes(world.context, {.label_selector = *LabelSelector::Parse("x")});
  REQUIRE(nodes.ok());
  CHECK(*nodes == std::vector<Node>{{.name = "a"}, {.name = "b"}, {.name = "c"}});
  CHECK(world.transport->lines == Lines{"GET /api/v1/nodes?labelSelector=x&limit=2",
                                        "GET /api/v1/nodes?labelSelector=x&limit=2&continue=t%2F1%3D",
                                        "GET /api/v1/nodes?labelSelector=x&limit=2&continue=t2"});
}

TEST_CASE("a page size of zero requests all objects in one page") {
  World world;
  world.cluster = MakeRestCluster(world.transport, {.page_size = 0});
  world.transport->Answer(200, PageOf<Node>({}));
  CHECK(world.cluster->ListNodes(world.context, {}).ok());
  CHECK(world.transport->lines == Lines{"GET /api/v1/nodes"});
}

TEST_CASE("a list is restarted once if its snapshot expires") {
  World world;
  const std::string expired = StatusBody(410, "Expired", "The provided continue parameter is too old.");
  world.transport->Answer(200, PageOf<Node>({{.name = "old"}}, "t1"));
  world.transport->Answer(410, expired);
  world.transport->Answer(200, PageOf<Node>({{.name = "new"}}, "t2"));
  SECTION("the second attempt succeeds") {
    world.transport->Answer(200, PageOf<Node>({{.name = "newer"}}));
    CHECK(*world.cluster->ListNodes(world.context, {}) == std::vector<Node>{{.name = "new"}, {.name = "newer"}});
  }
  SECTION("the list fails if the snapshot expires again") {
    world.transport->Answer(410, expired);
    const absl::Status status = world.cluster->ListNodes(world.context, {}).status();
    CHECK(absl::IsUnavailable(status));
    CHECK(Text(status) == "list nodes: 410 Expired: The provided continue parameter is too old.");
  }
  CHECK(world.transport->lines == Lines{"GET /api/v1/nodes?limit=500", "GET /api/v1/nodes?limit=500&continue=t1",
                                        "GET /api/v1/nodes?limit=500", "GET /api/v1/nodes?limit=500&continue=t2"});
}

TEST_CASE("a 410 response for the first page causes an error, and is not retried") {
  World world;
  world.transport->Answer(410, "");
  CHECK(absl::IsUnavailable(world.cluster->ListNodes(world.context, {}).status()));
  CHECK(world.transport->lines.size() == 1);
}

TEST_CASE("a list that does not end causes an error") {
  World world;
  for (int i = 0; i < 3; ++i) world.transport->Answer(200, PageOf<Node>({{.name = "a"}}, "same"));
  const absl::Status status = world.cluster->ListNodes(world.context, {}).status();
  CHECK(absl::IsUnavailable(status));
  CHECK(Text(status) == "list nodes: the server's list does not end");
  CHECK(world.transport->lines.size() == 2);
}

TEST_CASE("a list fails if a later page fails") {
  World world;
  world.transport->Answer(200, PageOf<Pod>({{.ref = kWeb}}, "t1"));
  world.transport->Answer(absl::DeadlineExceededError("no answer"));
  const absl::Status status =
      world.cluster
          ->ListPods(world.context, {.ns = "shop", .label_selector = *LabelSelector::Parse("a=b"), .node_name = "n1"})
          .status();
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK(Text(status) == "list pods in namespace shop with labels a=b on node n1: no answer");
}

TEST_CASE("PatchNode sends a single merge patch, and returns the node") {
  World world;
  world.transport->Answer(200, fixtures::kNode);
  const absl::StatusOr<Node> node = world.cluster->PatchNode(world.context, kPatch);
  REQUIRE(node.ok());
  CHECK(node->resource_version == "184467");
  CHECK(world.transport->lines == Lines{"PATCH /api/v1/nodes/gpu-7?fieldManager=driverupgrade"});
  CHECK(world.transport->requests[0].content_type == "application/merge-patch+json");
  CHECK(world.transport->requests[0].body == FormatNodePatch(kPatch));
}

TEST_CASE("a patch of a node that has changed or was replaced returns Aborted") {
  World world;
  const auto [code, body] = GENERATE(values<std::pair<int, std::string>>({
      {409, StatusBody(409, "Conflict", "the object has been modified")},
      {409, ""},
      {422, StatusBody(422, "Invalid", "Node is invalid",
                       R"("causes":[{"reason":"FieldValueInvalid","field":"metadata.uid"}])")},
  }));
  world.transport->Answer(code, body);
  const absl::Status status = world.cluster->PatchNode(world.context, kPatch).status();
  CHECK(absl::IsAborted(status));
  CHECK_FALSE(WasNotApplied(status));
}

TEST_CASE("a write with an unreadable response may have been applied") {
  World world;
  const std::string body = GENERATE(as<std::string>(), "", "<html>", R"({"kind":"Status","status":"Failure"})");
  world.transport->Answer(200, body);
  const absl::Status status = world.cluster->PatchNode(world.context, kPatch).status();
  CHECK(absl::IsUnavailable(status));
  CHECK_FALSE(WasNotApplied(status));
  CHECK(Text(status).starts_with("patch node gpu-7: cannot parse the response: "));
}

// Tests rule api-A2.
TEST_CASE("an HTTP error is returned with the code that ClusterFacade documents, and its message names the attempt") {
  struct Row {
    int http;
    std::string body;
    absl::StatusCode code;
    std::string text;
  };
  using absl::StatusCode;
  const auto row = GENERATE(values<Row>({
      {404, StatusBody(404, "NotFound", "nodes \\\"x\\\" not found"), StatusCode::kNotFound,
       "404 NotFound: nodes \"x\" not found"},
      {404, "", StatusCode::kNotFound, "404 NotFound"},
      {400, StatusBody(400, "BadRequest", "unable to parse"), StatusCode::kInvalidArgument,
       "400 BadRequest: unable to parse"},
      {401, StatusBody(401, "Unauthorized", "Unauthorized"), StatusCode::kUnauthenticated,
       "401 Unauthorized: Unauthorized"},
      {403, StatusBody(403, "Forbidden", "cannot get"), StatusCode::kPermissionDenied, "403 Forbidden: cannot get"},
      {405, "", StatusCode::kUnimplemented, "405 MethodNotAllowed"},
      {409, StatusBody(409, "Conflict", "modified"), StatusCode::kAborted, "409 Conflict: modified"},
      {409, StatusBody(409, "AlreadyExists", "exists"), StatusCode::kAlreadyExists, "409 AlreadyExists: exists"},
      {409, "", StatusCode::kAborted, "409 Conflict"},
      {410, "", StatusCode::kUnavailable, "410 Expired"},
      {413, "", StatusCode::kInvalidArgument, "413 RequestEntityTooLarge"},
      {418, "teapot", StatusCode::kUnknown, "418: teapot"},
      {422, StatusBody(422, "Invalid", "bad"), StatusCode::kInvalidArgument, "422 Invalid: bad"},
      {429, "Too many requests, please try again later.\n", StatusCode::kResourceExhausted,
       "429 TooManyRequests: Too many requests, please try again later.\\x0a"},
      {500, StatusBody(500, "InternalError", "oops"), StatusCode::kUnavailable, "500 InternalError: oops"},
      {502, "<html>\x1b[31m</html>", StatusCode::kUnavailable, "502: <html>\\x1b[31m</html>"},
      {503, "", StatusCode::kUnavailable, "503 ServiceUnavailable"},
      {504, StatusBody(504, "Timeout", "34s"), StatusCode::kUnavailable, "504 Timeout: 34s"},
      {302, "", StatusCode::kUnavailable, "302"},
  }));
  World world;
  world.transport->Answer(row.http, row.body);
  const absl::Status status = world.cluster->GetNode(world.context, {.name = "gpu-7"}).status();
  CHECK(status.code() == row.code);
  CHECK(Text(status) == "get node gpu-7: " + row.text);
}

TEST_CASE("the text of an error has a maximum length") {
  World world;
  world.transport->Answer(500, StatusBody(500, std::string(5000, 'r'), std::string(100'000, 'm')));
  const absl::Status status = world.cluster->GetNode(world.context, {.name = "gpu-7"}).status();
  CHECK(Text(status).size() < 1500);
}

TEST_CASE("the Retry-After delay is kept if it is a number of seconds") {
  struct Row {
    std::string header;
    std::string details;
    absl::Duration expected;
  };
  const auto row = GENERATE(values<Row>({
      {"", "", absl::ZeroDuration()},
      {"5", "", absl::Seconds(5)},
      {"5", R"("retryAfterSeconds":10)", absl::Seconds(10)},
      {"32", R"("retryAfterSeconds":10)", absl::Seconds(32)},
      {"Wed, 21 Oct 2026 07:28:00 GMT", "", absl::ZeroDuration()},
      {"-1", R"("retryAfterSeconds":-7)", absl::ZeroDuration()},
      {"301", "", absl::Seconds(300)},
      {"99999999999999999999", "", absl::Seconds(300)},
      {"", R"("retryAfterSeconds":2147483647)", absl::Seconds(300)},
      {"5 ", "", absl::ZeroDuration()},
  }));
  CAPTURE(row.header, row.details);
  World world;
  world.transport->Answer(HttpResponse{.status = 429,
                                       .headers = {{"retry-after", row.header}},
                                       .body = StatusBody(429, "TooManyRequests", "busy", row.details)});
  const absl::Status status = world.cluster->GetNode(world.context, {.name = "n"}).status();
  CHECK(absl::IsResourceExhausted(status));
  CHECK(RetryAfter(status) == row.expected);
}

TEST_CASE("an error from the transport keeps its code and its not-sent mark") {
  World world;
  world.transport->Answer(MarkRequestNotSent(absl::UnavailableError("connect to 10.0.0.1:6443: refused")));
  const absl::Status status = world.cluster->DeletePod(world.context, {.pod = kWeb});
  CHECK(absl::IsUnavailable(status));
  CHECK(RequestWasNotSent(status));
  CHECK(Text(status) == "delete pod shop/web-1: connect to 10.0.0.1:6443: refused");
}

TEST_CASE("an eviction is sent as a policy/v1 Eviction with the UID of the pod") {
  World world;
  world.transport->Answer(201, R"({"kind":"Status","status":"Success","code":201})");
  CHECK(*world.cluster->EvictPod(world.context, {.pod = kWeb}) == EvictionAnswer{});
  CHECK(world.transport->lines == Lines{"POST /api/v1/namespaces/shop/pods/web-1/eviction"});
  CHECK(world.transport->requests[0].content_type == "application/json");
  CHECK(world.transport->requests[0].body == FormatEviction({.pod = kWeb}));
}

constexpr char kRefused[] = "Cannot evict pod as it would violate the pod's disruption budget.";

std::string RefusalBody(int code, const std::string& cause, const std::string& more = "") {
  return StatusBody(code, code == 429 ? "TooManyRequests" : "Forbidden", kRefused,
                    R"("causes":[{"reason":"DisruptionBudget","message":")" + cause + "\"}]" + more);
}

// Expected meaning of an eviction response: the reason for a refusal, and whether the pod no longer exists.
constexpr std::pair kAccepted(Refusal::kNone, false);
constexpr std::pair kGone(Refusal::kNone, true);
constexpr std::pair<Refusal, bool> RefusedBy(Refusal refusal) { return {refusal, false}; }

// Tests rule drain-D28.
TEST_CASE("each response to an eviction is mapped to one of the results in E26") {
  struct Row {
    std::string name;
    int http;
    std::string body;
    std::pair<Refusal, bool> meaning;
    std::string budget = {};
    absl::Duration retry_after = {};
  };
  const auto row = GENERATE(values<Row>({
      {"created", 201, "", kAccepted},
      {"ok", 200, "whatever", kAccepted},
      {"gone", 404, StatusBody(404, "NotFound", "pods not found"), kGone},
      {"another pod of that name", 409, StatusBody(409, "Conflict", kUidConflict), kGone},
      {"the same in the storage's words", 409,
       StatusBody(409, "Conflict", "Precondition failed: UID in precondition: u-1, UID in object meta: "), kGone},
      {"no budget left", 429, RefusalBody(429, "The disruption budget web needs 4 healthy pods and has 4 currently"),
       RefusedBy(Refusal::kDisruptionBudget), "web"},
      {"budget not processed", 429,
       RefusalBody(429, "The disruption budget web is still being processed by the server.",
                   R"(,"retryAfterSeconds":10)"),
       RefusedBy(Refusal::kDisruptionBudget), "web", absl::Seconds(10)},
      {"failed sync", 429, RefusalBody(429, "The disruption budget a.b does not allow this because it failed sync: x"),
       RefusedBy(Refusal::kDisruptionBudget), "a.b"},
      {"a cause in other words", 429, RefusalBody(429, "no"), RefusedBy(Refusal::kDisruptionBudget)},
      {"forbidden with the cause", 403, RefusalBody(403, "The disruption budget web is negative"),
       RefusedBy(Refusal::kDisruptionBudget), "web"},
      {"forbidden because of the budget's state", 403,
       StatusBody(403, "Forbidden", "pdb disruptions allowed is negative",
                  R"("name":"web","group":"policy","kind":"poddisruptionbudget")"),
       RefusedBy(Refusal::kDisruptionBudget), "web"},
      {"throttled", 429, "Too many requests, please try again later.", RefusedBy(Refusal::kThrottled)},
      {"throttled, as a Status", 429, StatusBody(429, "TooManyRequests", "busy", R"("retryAfterSeconds":1)"),
       RefusedBy(Refusal::kThrottled), "", absl::Seconds(1)},
      {"namespace terminating", 403,
       StatusBody(403, "Forbidden", "unable to create new content in namespace shop because it is being terminated",
                  R"("causes":[{"reason":"NamespaceTerminating","field":"metadata.namespace"}])"),
       RefusedBy(Refusal::kNamespaceTerminating)},
      {"several budgets", 500,
       R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"This pod has more than one PodDisruptionBudget, which the eviction subresource does not )"
       R"(support.","code":500})",
       RefusedBy(Refusal::kSeveralBudgets)},
  }));
  CAPTURE(row.name);
  World world;
  world.transport->Answer(row.http, row.body);
  const absl::StatusOr<EvictionAnswer> answer = world.cluster->EvictPod(world.context, {.pod = kWeb});
  REQUIRE(answer.ok());
  CHECK(std::pair(answer->refusal, answer->gone) == row.meaning);
  CHECK(answer->budget == row.budget);
  CHECK(answer->retry_after == row.retry_after);
  CHECK(answer->message.empty() == (row.meaning == kAccepted));
}

TEST_CASE("the message of a refusal names the budget, and the Retry-After header is also read") {
  World world;
  world.transport->Answer(HttpResponse{
      .status = 429, .headers = {{"Retry-After", "7"}}, .body = RefusalBody(429, "The disruption budget web needs 4")});
  const auto answer = world.cluster->EvictPod(world.context, {.pod = kWeb});
  REQUIRE(answer.ok());
  CHECK(answer->message == std::string(kRefused) + " The disruption budget web needs 4");
  CHECK(answer->retry_after == absl::Seconds(7));
}

TEST_CASE("an eviction that fails for other reasons returns an error status") {
  struct Row {
    int http;
    std::string body;
    absl::StatusCode code;
  };
  using absl::StatusCode;
  const auto row = GENERATE(values<Row>({
      {400, StatusBody(400, "BadRequest", "name in URL does not match"), StatusCode::kInvalidArgument},
      {401, "", StatusCode::kUnauthenticated},
      {403, StatusBody(403, "Forbidden", "cannot create resource pods/eviction"), StatusCode::kPermissionDenied},
      {409, StatusBody(409, "Conflict", "the object has been modified"), StatusCode::kAborted},
      {409, "", StatusCode::kAborted},
      {500, StatusBody(500, "InternalError", "webhook"), StatusCode::kUnavailable},
      {504, StatusBody(504, "Timeout", "couldn't update PodDisruptionBudget"), StatusCode::kUnavailable},
  }));
  World world;
  world.transport->Answer(row.http, row.body);
  const absl::Status status = world.cluster->EvictPod(world.context, {.pod = kWeb}).status();
  CHECK(status.code() == row.code);
  CHECK(Text(status).starts_with("evict pod shop/web-1: " + std::to_string(row.http) + " "));
}

TEST_CASE("a pod is deleted by name and UID, and a missing pod counts as deleted") {
  World world;
  const auto [code, body] = GENERATE(values<std::pair<int, std::string>>({
      {200, fixtures::kPod},
      {202, ""},
      {404, StatusBody(404, "NotFound", "pods not found")},
      {409, StatusBody(409, "Conflict", kUidConflict)},
  }));
  world.transport->Answer(code, body);
  CHECK(world.cluster->DeletePod(world.context, {.pod = kWeb}).ok());
  CHECK(world.transport->lines == Lines{"DELETE /api/v1/namespaces/shop/pods/web-1"});
  CHECK(world.transport->requests[0].content_type == "application/json");
  CHECK(world.transport->requests[0].body == FormatDeleteOptions({.pod = kWeb}));
}

TEST_CASE("a failed deletion returns the reason") {
  World world;
  world.transport->Answer(409, StatusBody(409, "Conflict", "modified"));
  CHECK(absl::IsAborted(world.cluster->DeletePod(world.context, {.pod = kWeb})));
  world.transport->Answer(403, StatusBody(403, "Forbidden", "no"));
  CHECK(Text(world.cluster->DeletePod(world.context, {.pod = kWeb})) == "delete pod shop/web-1: 403 Forbidden: no");
}

TEST_CASE("an event is created in its object's namespace, and an existing event counts as created") {
  World world;
  RecordEventParams params{.node_name = "gpu-7", .node_uid = "u-7", .reason = "Drained", .message = "all gone"};
  world.transport->Answer(201, "{}");
  CHECK(world.cluster->RecordEvent(world.context, params).ok());
  CHECK(world.transport->requests[0].body == FormatEvent(params, "gpu-operator"));
  params.pod = kWeb;
  world.transport->Answer(409, StatusBody(409, "AlreadyExists", "events exist"));
  CHECK(world.cluster->RecordEvent(world.context, params).ok());
  world.transport->Answer(409, "");
  CHECK(world.cluster->RecordEvent(world.context, params).ok());
  world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot create events"));
  CHECK(Text(world.cluster->RecordEvent(world.context, params)) ==
        "record event Drained on pod shop/web-1: 403 Forbidden: cannot create events");
  const std::string in_shop = "POST /api/v1/namespaces/shop/events";
  CHECK(world.transport->lines == Lines{"POST /api/v1/namespaces/default/events", in_shop, in_shop, in_shop});
}

TEST_CASE("api-A48: an event of a series is patched, and created again if it no longer exists") {
  World world;
  const absl::Time first = absl::FromUnixSeconds(1767323045);
  const RecordEventParams once{.node_name = "gpu-7", .reason = "Blocked", .message = "by web", .time = first};
  RecordEventParams again = once;
  again.message = "by shop";
  again.time = first + absl::Seconds(60);
  again.series = {.count = 2, .first_time = first, .first_message = "by web"};
  const std::string events = "/api/v1/namespaces/default/events";
  const std::string patch = "PATCH " + events + "/" + EventName(once);
  world.transport->Answer(200, "{}");
  CHECK(world.cluster->RecordEvent(world.context, again).ok());
  CHECK(world.transport->requests[0].content_type == "application/merge-patch+json");
  CHECK(world.transport->requests[0].body ==
        R"({"message":"by shop","lastTimestamp":"2026-01-02T03:05:05Z","count":2})");
  world.transport->Answer(404, StatusBody(404, "NotFound", "events not found"));
  world.transport->Answer(201, "{}");
  CHECK(world.cluster->RecordEvent(world.context, again).ok());
  CHECK(world.transport->requests[2].body == FormatEvent(again, "gpu-operator"));
  world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot patch events"));
  CHECK(Text(world.cluster->RecordEvent(world.context, again)) ==
        "record event Blocked on node gpu-7: 403 Forbidden: cannot patch events");
  CHECK(world.transport->lines == Lines{patch, patch, "POST " + events, patch});
}

TEST_CASE("a name cannot change the path") {
  World world;
  const std::string name =
      GENERATE(as<std::string>(), "", ".", "..", "a/b", "../../secrets", "a%2fb", "a b", "a\nb", std::string(400, 'a'));
  CAPTURE(name);
  PatchNodeParams patch = kPatch;
  patch.name = name;
  const PodRef bad_name{"shop", name, "u"}, bad_ns{name, "web", "u"};
  for (const absl::Status& status : {
           world.cluster->GetNode(world.context, {.name = name}).status(),
           world.cluster->GetPod(world.context, {"shop", name}).status(),
           world.cluster->GetPod(world.context, {name, "web"}).status(),
           world.cluster->ListDaemonSets(world.context, {.ns = name}).status(),
           world.cluster->ListControllerRevisions(world.context, {.ns = name}).status(),
           world.cluster->PatchNode(world.context, patch).status(),
           world.cluster->EvictPod(world.context, {.pod = bad_name}).status(),
           world.cluster->EvictPod(world.context, {.pod = bad_ns}).status(),
           world.cluster->DeletePod(world.context, {.pod = bad_name}),
           world.cluster->RecordEvent(world.context, {.node_name = name}),
           world.cluster->RecordEvent(world.context, {.node_name = "n", .pod = bad_ns}),
       }) {
    CHECK(absl::IsInvalidArgument(status));
    CHECK(RequestWasNotSent(status));
    CHECK(Text(status).size() < 700);
  }
  CHECK(world.transport->lines.empty());
}

TEST_CASE("characters that a path cannot contain are encoded") {
  World world;
  world.transport->Answer(404, "");
  CHECK(absl::IsNotFound(world.cluster->GetNode(world.context, {.name = "a?b#c&ü"}).status()));
  CHECK(world.transport->lines == Lines{"GET /api/v1/nodes/a%3Fb%23c%26%C3%BC"});
}

TEST_CASE("a write without UID or version is refused before it is sent") {
  World world;
  PatchNodeParams patch = kPatch;
  patch.uid = "";
  CHECK(Text(world.cluster->PatchNode(world.context, patch).status()) == "patch node gpu-7: no uid given");
  patch = kPatch;
  patch.resource_version = "";
  CHECK(absl::IsInvalidArgument(world.cluster->PatchNode(world.context, patch).status()));
  CHECK(absl::IsInvalidArgument(world.cluster->EvictPod(world.context, {.pod = {"shop", "web", ""}}).status()));
  CHECK(absl::IsInvalidArgument(world.cluster->DeletePod(world.context, {.pod = {"shop", "web", ""}})));
  CHECK(world.transport->lines.empty());
}

}  // namespace
}  // namespace driverupgrade
