#include "support/resource_watch.h"

#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using examples::ResourceWatch;

std::string Policy(const std::string& name, const std::string& version) {
  return R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":")" + name +
         R"(","uid":"u","resourceVersion":")" + version + R"("}})";
}

std::string Page(const std::string& items) {
  return R"({"kind":"ClusterPolicyList","apiVersion":"nvidia.com/v1","metadata":{"resourceVersion":"70"},"items":[)" +
         items + "]}";
}

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<testing::FakeClock> clock = std::make_shared<testing::FakeClock>();
  int changes = 0;
  std::vector<std::string> log = {};
  ResourceWatch watch{std::make_shared<const ObjectClient>(transport, "op"),
                      {.group_version = "nvidia.com/v1", .resource = "clusterpolicies", .namespaced = false},
                      {.on_change = [this] { ++changes; },
                       .log = [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); },
                       .clock = clock}};

  std::string Names() const {
    const auto objects = watch.Latest();
    if (!objects) return "unread";
    std::string names;
    for (const ApiObject& object : *objects) names += object.name + object.resource_version + " ";
    return names;
  }
};

TEST_CASE("the store starts with a list, and then follows changes, and a new watch continues from the last version") {
  World world;
  CHECK(world.Names() == "unread");
  world.transport->Answer(200, Page(Policy("b", "2") + "," + Policy("a", "1")));
  world.transport->AnswerLines({R"({"type":"ADDED","object":)" + Policy("c", "71") + "}",
                                R"({"type":"DELETED","object":)" + Policy("b", "72") + "}",
                                R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"80"}}})"});
  CHECK(world.watch.Turn({}) == absl::ZeroDuration());
  CHECK(world.Names() == "a1 c71 ");
  CHECK(world.changes == 3);
  world.transport->AnswerLines({R"({"type":"MODIFIED","object":)" + Policy("a", "81") + "}"});
  world.watch.Turn({});
  CHECK(world.Names() == "a81 c71 ");
  CHECK(world.transport->lines.back().find("resourceVersion=80") != std::string::npos);
  CHECK(world.transport->lines.size() == 3);
  CHECK(world.log.empty());
}

TEST_CASE("a server that ends a watch immediately is not queried again without a pause") {
  World world;
  world.transport->Answer(200, Page(""));
  world.transport->AnswerLines({});
  world.watch.Turn({});
  world.transport->AnswerLines({});
  CHECK(world.watch.Turn({}) > absl::ZeroDuration());
  CHECK(world.Names().empty());
}

TEST_CASE(
    "api-A16: a version that is too old leads to a new list, and objects that were deleted meanwhile are removed") {
  World world;
  world.transport->Answer(200, Page(Policy("a", "1") + "," + Policy("b", "2")));
  world.transport->AnswerLines({R"({"type":"ERROR","object":)" + StatusBody(410, "Expired", "too old") + "}"});
  CHECK(world.watch.Turn({}) == absl::ZeroDuration());
  CHECK(world.Names() == "a1 b2 ");
  world.transport->Answer(200, Page(Policy("b", "2")));
  world.transport->AnswerLines({});
  world.watch.Turn({});
  CHECK(world.Names() == "b2 ");
  CHECK(world.transport->lines[2].starts_with("GET "));
  CHECK(world.log.empty());
}

TEST_CASE(
    "a failure is reported once with the verb and resource, retried after growing pauses, and known data is kept") {
  World world;
  world.transport->Answer(200, Page(Policy("a", "1")));
  world.transport->AnswerLines({});
  world.watch.Turn({});
  std::vector<absl::Duration> pauses;
  for (int i = 0; i < 8; ++i) {
    world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot watch resource clusterpolicies"));
    pauses.push_back(world.watch.Turn({}));
  }
  CHECK(pauses.front() == absl::Seconds(1));
  CHECK(pauses[1] == absl::Seconds(2));
  CHECK(pauses.back() == absl::Seconds(30));
  REQUIRE(world.log.size() == 1);
  CHECK(world.log[0].find("cannot watch resource clusterpolicies") != std::string::npos);
  CHECK(absl::IsPermissionDenied(world.watch.status()));
  CHECK(world.Names() == "a1 ");
  world.transport->AnswerLines({R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"80"}}})"});
  world.watch.Turn({});
  CHECK(world.watch.status().ok());
  CHECK(world.log.size() == 2);
}

TEST_CASE("a kind that the cluster does not serve counts as empty, and is checked again") {
  World world;
  world.transport->Answer(404, "404 page not found\n");
  CHECK(world.watch.Turn({}) == absl::Seconds(30));
  CHECK(world.Names().empty());
  CHECK(world.changes == 1);
  CHECK(world.watch.status().ok());
  world.transport->Answer(200, Page(Policy("a", "1")));
  world.transport->AnswerLines({});
  world.watch.Turn({});
  CHECK(world.Names() == "a1 ");
}

TEST_CASE("a running watch ends when it is stopped") {
  World world;
  world.transport->Answer(404, "404 page not found\n");
  world.watch.Stop();
  CHECK(world.transport->lines.empty());
}

}  // namespace
}  // namespace driverupgrade::tests
