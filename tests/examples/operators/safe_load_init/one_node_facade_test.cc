#include "safe_load_init/one_node_facade.h"

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade {
namespace {

using Lines = std::vector<std::string>;

std::string NodeJson(const std::string& version, const std::string& value) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-7","uid":"u","resourceVersion":")" + version +
         R"(","annotations":{"a":")" + value + R"("}}})";
}

struct Seen final : WatchSink<Node> {
  bool OnList(std::vector<Node> nodes, std::string_view version) override {
    for (const Node& node : nodes) lines.push_back("list " + node.name + " at " + std::string(version));
    return true;
  }
  bool OnChange(Node node, std::string_view version) override {
    lines.push_back("change a=" + node.annotations["a"] + " at " + std::string(version));
    return true;
  }
  bool OnDelete(Node node, std::string_view) override {
    lines.push_back("delete " + node.name);
    return true;
  }
  bool OnBookmark(std::string_view version) override {
    lines.push_back("bookmark " + std::string(version));
    return true;
  }
  Lines lines;
};

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  safe_load_init::OneNodeFacade cluster{MakeRestCluster(transport), transport, "gpu-7"};
  Seen seen;
};

TEST_CASE("the watch requests the changes of one node only") {
  World world;
  world.transport->AnswerLines({R"({"type":"MODIFIED","object":)" + NodeJson("8", "true") + "}",
                                R"({"type":"DELETED","object":)" + NodeJson("9", "") + "}",
                                R"({"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"10"}}})"});
  CHECK(world.cluster.WatchNodes({}, {.resource_version = "7", .timeout = absl::Seconds(5)}, world.seen).ok());
  CHECK(world.seen.lines == Lines{"change a=true at 8", "delete gpu-7", "bookmark 10"});
  CHECK(world.transport->lines ==
        Lines{"stream GET /api/v1/nodes?fieldSelector=metadata.name%3Dgpu-7&watch=1&resourceVersion=7&"
              "allowWatchBookmarks=true&timeoutSeconds=5"});
}

TEST_CASE("without a version the watch starts with the current node, if it exists") {
  World world;
  world.transport->Answer(200, R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[)" +
                                   NodeJson("5", "true") + "]}");
  world.transport->AnswerLines({});
  CHECK(world.cluster.WatchNodes({}, {}, world.seen).ok());
  CHECK(world.seen.lines == Lines{"list gpu-7 at 7"});
}

TEST_CASE("a malformed node ends the watch with an error, and all other calls go to the cluster unchanged") {
  World world;
  world.transport->AnswerLines(
      {R"({"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-7","uid":"u",)"
       R"("resourceVersion":"8","annotations":{"a":7}}}})"});
  CHECK(absl::IsUnavailable(world.cluster.WatchNodes({}, {.resource_version = "7"}, world.seen)));
  CHECK(world.seen.lines.empty());
  world.transport->Answer(200, NodeJson("8", "true"));
  CHECK(world.cluster.GetNode({}, {.name = "gpu-7"})->annotations.at("a") == "true");
}

}  // namespace
}  // namespace driverupgrade
