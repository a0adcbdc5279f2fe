#include "ofed/stray_claims.h"

#include "driverupgrade/service/director.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::GiveBackStrayClaims;
using ofed_operator::StrayRequestors;
using Ids = std::set<std::string>;

NodeMaintenance Object(const std::string& name, const std::string& requestor, std::vector<std::string> more = {}) {
  return {.ns = "net",
          .name = name,
          .requestor_id = requestor,
          .additional_requestors = std::move(more),
          .node_name = name};
}

TEST_CASE("leftover requests of a deleted NicNodePolicy are recognized by the requestor id, even if it is shortened") {
  const std::string long_name(50, 'x');
  CHECK(StrayRequestors({Object("n1", "op"), Object("n2", "op-nnp-a"), Object("n3", "op-nnp-b", {"op-nnp-c"}),
                         Object("n4", "other-nnp-d")},
                        "op", {"b"}) == Ids{"op-nnp-a", "op-nnp-c"});
  CHECK(StrayRequestors({Object("n1", "requestor.of.nvidia-nnp-" + long_name.substr(0, 30))}, "requestor.of.nvidia", {})
            .size() == 1);
  EngineOptions engine;
  engine.state_machine.requestor = RequestorOptions{.id = "requestor.of.nvidia"};
  const std::string shortened =
      EngineOptionsOf(engine, {.requestor_suffix = "-nnp-" + long_name}).state_machine.requestor->id;
  CHECK(StrayRequestors({Object("n1", shortened)}, "requestor.of.nvidia", {long_name}).empty());
  CHECK(StrayRequestors({Object("n1", shortened)}, "requestor.of.nvidia", {}) == Ids{shortened});
}

TEST_CASE("NodeMaintenances of a NicNodePolicy that was deleted while no operator ran are released") {
  const auto clock = std::make_shared<testing::FakeClock>();
  const auto cluster = std::make_shared<testing::FakeCluster>(clock);
  for (const char* node : {"n1", "n2", "n3"}) cluster->AddNode(testing::NodeBuilder(node).Build());
  REQUIRE(cluster->CreateNodeMaintenance({}, {.object = Object("n1", "op-nnp-gone")}).ok());
  REQUIRE(cluster->CreateNodeMaintenance({}, {.object = Object("n2", "op-nnp-here")}).ok());
  REQUIRE(cluster->CreateNodeMaintenance({}, {.object = Object("n3", "somebody", {"op-nnp-gone"})}).ok());
  std::vector<std::string> log;
  const LogSink sink = [&](const LogRecord& record) { log.push_back(record.message); };
  cluster->FailNext(Operation::kDeleteNodeMaintenance, absl::UnavailableError("busy"));
  const auto give_back = [&] {
    return GiveBackStrayClaims({}, *cluster, {.id = "op", .ns = "net"}, {"here"}, clock->Now(), sink);
  };
  CHECK(absl::IsUnavailable(give_back()));
  CHECK(give_back().ok());
  cluster->Advance(absl::Minutes(1));
  const auto left = cluster->ListNodeMaintenances({}, {.ns = "net"});
  REQUIRE(left.ok());
  REQUIRE(left->size() == 2);
  CHECK((*left)[0].requestor_id == "op-nnp-here");
  CHECK((*left)[1].additional_requestors.empty());
  CHECK(log.size() == 2);
  CHECK(give_back().ok());
  CHECK(log.size() == 2);
}

}  // namespace
}  // namespace driverupgrade::tests
