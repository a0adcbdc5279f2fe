#include "driverupgrade/kubernetes/object_client.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade {
namespace {

using Lines = std::vector<std::string>;

const ObjectKind kPolicies{.group_version = "nvidia.com/v1", .resource = "clusterpolicies", .namespaced = false};
const ObjectKind kStreams{.group_version = "image.openshift.io/v1", .resource = "imagestreams"};
const ObjectKind kPods{.group_version = "v1", .resource = "pods"};

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  ObjectClient objects{transport, "gpu-operator"};
  CallContext context;
};

std::string Policy(const std::string& name, const std::string& version) {
  return R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":")" + name +
         R"(","uid":"u-1","resourceVersion":")" + version + R"("},"spec":{"driver":{"enabled":true}}})";
}

std::string Page(const std::string& items, const std::string& token = "") {
  return R"({"kind":"ClusterPolicyList","apiVersion":"nvidia.com/v1","metadata":{"resourceVersion":"70","continue":")" +
         token + R"("},"items":[)" + items + "]}";
}

struct Seen final : WatchSink<ApiObject> {
  bool OnList(std::vector<ApiObject> objects, std::string_view version) override {
    for (const ApiObject& object : objects) lines.push_back("list " + object.name);
    lines.push_back("at " + std::string(version));
    return true;
  }
  bool OnChange(ApiObject object, std::string_view) override {
    lines.push_back("change " + object.name + " " + object.json);
    return true;
  }
  bool OnDelete(ApiObject object, std::string_view) override {
    lines.push_back("delete " + object.name);
    return true;
  }
  bool OnBookmark(std::string_view version) override {
    lines.push_back("bookmark " + std::string(version));
    return true;
  }
  Lines lines;
};

TEST_CASE("an object of any kind is returned with its identity and its JSON text") {
  World world;
  world.transport->Answer(200, Policy("cluster-policy", "7"));
  const absl::StatusOr<ApiObject> object = world.objects.Get(world.context, kPolicies, {.name = "cluster-policy"});
  REQUIRE(object.ok());
  CHECK(*object ==
        ApiObject{
            .name = "cluster-policy", .uid = "u-1", .resource_version = "7", .json = Policy("cluster-policy", "7")});
  CHECK(world.transport->lines == Lines{"GET /apis/nvidia.com/v1/clusterpolicies/cluster-policy"});
}

TEST_CASE("lists are read page by page, in one namespace or in all, and can select labels") {
  World world;
  world.transport->Answer(200, Page(Policy("a", "1"), "more"));
  world.transport->Answer(200, Page(Policy("b", "2")));
  const auto all = world.objects.List(world.context, kPolicies, {.label_selector = *LabelSelector::Parse("x=y")});
  REQUIRE(all.ok());
  REQUIRE(all->size() == 2);
  CHECK((*all)[1].name == "b");
  world.transport->Answer(200, Page(""));
  CHECK(world.objects.List(world.context, kStreams, {.ns = "openshift"})->empty());
  CHECK(world.objects.List(world.context, kStreams, {.label_selector = LabelSelector::Nothing()})->empty());
  CHECK(world.transport->lines ==
        Lines{"GET /apis/nvidia.com/v1/clusterpolicies?labelSelector=x%3Dy&limit=500",
              "GET /apis/nvidia.com/v1/clusterpolicies?labelSelector=x%3Dy&limit=500&continue=more",
              "GET /apis/image.openshift.io/v1/namespaces/openshift/imagestreams?limit=500"});
}

TEST_CASE("api-A12, api-A16: a watch reports the list, then changes, and finally that it must start again") {
  World world;
  world.transport->Answer(200, Page(Policy("a", "1")));
  world.transport->AnswerLines(
      {R"({"type":"MODIFIED","object":)" + Policy("a", "71") + "}",
       R"({"type":"DELETED","object":)" + Policy("a", "72") + "}",
       R"({"type":"BOOKMARK","object":{"kind":"ClusterPolicy","metadata":{"resourceVersion":"73"}}})",
       R"({"type":"ERROR","object":)" + StatusBody(410, "Expired", "too old") + "}"});
  Seen seen;
  const absl::Status ended = world.objects.Watch(world.context, kPolicies, {}, seen);
  CHECK(absl::IsOutOfRange(ended));
  CHECK(seen.lines == Lines{"list a", "at 70", "change a " + Policy("a", "71"), "delete a", "bookmark 73"});
}

TEST_CASE("S14: a single object is watched by its namespace and name") {
  World world;
  world.transport->Answer(200, Page(Policy("a", "1")));
  world.transport->AnswerLines({R"({"type":"DELETED","object":)" + Policy("a", "72") + "}"});
  Seen seen;
  CHECK(world.objects.WatchOne(world.context, kPolicies, {.name = "a"}, {.timeout = absl::Seconds(5)}, seen).ok());
  CHECK(seen.lines == Lines{"list a", "at 70", "delete a"});
  world.transport->AnswerLines({});
  CHECK(world.objects.WatchOne(world.context, kStreams, {"openshift", "a=b"}, {.resource_version = "9"}, seen).ok());
  CHECK(world.transport->lines ==
        Lines{"GET /apis/nvidia.com/v1/clusterpolicies?fieldSelector=metadata.name%3Da&limit=500",
              "stream GET /apis/nvidia.com/v1/clusterpolicies?fieldSelector=metadata.name%3Da&watch=1&"
              "resourceVersion=70&allowWatchBookmarks=true&timeoutSeconds=5",
              "stream GET /apis/image.openshift.io/v1/namespaces/openshift/imagestreams?fieldSelector="
              "metadata.name%3Da%5C%3Db&watch=1&resourceVersion=9&allowWatchBookmarks=true&timeoutSeconds=300"});
  CHECK(absl::IsInvalidArgument(world.objects.WatchOne(world.context, kStreams, {.name = "a"}, {}, seen)));
}

TEST_CASE("writes create an object, patch it or its status with a merge patch, and delete it with options") {
  World world;
  world.transport->Answer(201, Policy("p", "1"));
  CHECK(world.objects.Create(world.context, kPolicies, {.name = "p"}, Policy("p", "")).ok());
  world.transport->Answer(200, Policy("p", "2"));
  CHECK(world.objects.MergePatch(world.context, kPolicies, {.name = "p"}, R"({"status":{"state":"ready"}})", "status")
            ->resource_version == "2");
  world.transport->Answer(200, R"({"kind":"Status","status":"Success"})");
  CHECK(world.objects.Delete(world.context, kPods, {"drivers", "p"}, R"({"propagationPolicy":"Orphan"})").ok());
  CHECK(world.transport->lines == Lines{"POST /apis/nvidia.com/v1/clusterpolicies?fieldManager=gpu-operator",
                                        "PATCH /apis/nvidia.com/v1/clusterpolicies/p/status?fieldManager=gpu-operator",
                                        "DELETE /api/v1/namespaces/drivers/pods/p"});
  CHECK(world.transport->requests[1].content_type == "application/merge-patch+json");
  CHECK(world.transport->requests[2].body == R"({"propagationPolicy":"Orphan"})");
}

TEST_CASE("numbers are not changed") {
  World world;
  const std::string json =
      R"({"kind":"X","metadata":{"name":"x"},"spec":{"a":0.1,"b":123456789012345678,"c":1.7976931348623157e308}})";
  world.transport->Answer(200, json);
  CHECK(world.objects.Get(world.context, kPolicies, {.name = "x"})->json == json);
}

TEST_CASE("a watch with a selector that matches nothing yields an empty list without a request") {
  World world;
  Seen seen;
  CHECK(world.objects.Watch(world.context, kPolicies, {.label_selector = LabelSelector::Nothing()}, seen).ok());
  CHECK(seen.lines == Lines{"at "});
  CHECK(world.transport->lines.empty());
}

TEST_CASE("a log is returned as text") {
  World world;
  world.transport->Answer(200, "line 1\nline 2\n");
  CHECK(*world.objects.GetText(world.context, kPods, {"drivers", "p"}, "log", {{"tailLines", "100"}}) ==
        "line 1\nline 2\n");
  CHECK(world.transport->lines == Lines{"GET /api/v1/namespaces/drivers/pods/p/log?tailLines=100"});
}

TEST_CASE("the body of an error response is not returned as the text of a log") {
  World world;
  world.transport->Answer(404, StatusBody(404, "NotFound", "pods \"p\" not found"));
  CHECK(absl::IsNotFound(world.objects.GetText(world.context, kPods, {"drivers", "p"}, "log").status()));
}

TEST_CASE("errors contain the attempted action, its object, and the server's message") {
  World world;
  world.transport->Answer(403, StatusBody(403, "Forbidden", "clusterpolicies.nvidia.com is forbidden: no"));
  CHECK(world.objects.Get(world.context, kPolicies, {.name = "p"}).status() ==
        absl::PermissionDeniedError("get nvidia.com/v1 clusterpolicies p: 403 Forbidden: clusterpolicies.nvidia.com is "
                                    "forbidden: no"));
  world.transport->Answer(404, "404 page not found\n");
  CHECK(absl::IsNotFound(world.objects.List(world.context, kStreams).status()));
  world.transport->Answer(409, StatusBody(409, "Conflict", "modified"));
  CHECK(absl::IsAborted(world.objects.MergePatch(world.context, kStreams, {"a", "b"}, "{}").status()));
  world.transport->Answer(200, "<html>");
  CHECK(absl::IsUnavailable(world.objects.Get(world.context, kPolicies, {.name = "p"}).status()));
  // A document that is not a list must not count as an empty list.
  for (const std::string& body : {std::string("{}"), Policy("p", "1"), std::string(R"({"error":"no"})")}) {
    world.transport->Answer(200, body);
    CHECK(absl::IsUnavailable(world.objects.List(world.context, kPolicies).status()));
  }
  // An error with the HTTP status 200 must not count as an object.
  world.transport->Answer(200, StatusBody(404, "NotFound", "gone"));
  CHECK(absl::IsUnavailable(world.objects.Get(world.context, kPolicies, {.name = "p"}).status()));
}

TEST_CASE("S11: a name that cannot be part of a path is refused before a request is sent") {
  World world;
  const auto refused = [&](const ObjectKind& kind, const ObjectName& name, const std::string& subresource = "") {
    const absl::Status status = world.objects.MergePatch(world.context, kind, name, "{}", subresource).status();
    return absl::IsInvalidArgument(status) && RequestWasNotSent(status);
  };
  CHECK(refused(kPolicies, {.name = ""}));
  CHECK(refused(kPolicies, {.name = "a/b"}));
  CHECK(refused(kPolicies, {.ns = "a", .name = "b"}));
  CHECK(refused(kStreams, {.name = "b"}));
  CHECK(refused(kStreams, {.ns = "..", .name = "b"}));
  CHECK(refused({.group_version = "a/b/c", .resource = "d"}, {"a", "b"}));
  CHECK(refused({.group_version = "", .resource = "d"}, {"a", "b"}));
  CHECK(refused({.group_version = "v1", .resource = ""}, {"a", "b"}));
  CHECK(refused(kStreams, {"a", "b"}, "status/x"));
  CHECK(world.transport->lines.empty());
}

}  // namespace
}  // namespace driverupgrade
