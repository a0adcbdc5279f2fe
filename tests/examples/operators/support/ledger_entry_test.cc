#include "support/ledger_entry.h"

#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;
using Data = std::map<std::string, std::string>;

struct World {
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(std::make_shared<FakeClock>());
  std::shared_ptr<ClusterFacade> a = examples::WithLedgerEntry(cluster, Gpu(), "a");
  Data data() const { return cluster->config_map("op", "lock")->data; }
};

TEST_CASE("owners have entries of their own in one ConfigMap, and each sees only its own as the driver's") {
  World world;
  const auto made = world.a->CreateConfigMap({}, {.ns = "op", .name = "lock", .data = {{"nvidia.com_gpu", "1"}}});
  REQUIRE(made.ok());
  CHECK(made->data == Data{{"nvidia.com_gpu", "1"}});
  CHECK(world.data() == Data{{"nvidia.com_gpu_a", "1"}});

  const auto b = examples::WithLedgerEntry(world.cluster, Gpu(), "b");
  const auto seen = b->GetConfigMap({}, {.ns = "op", .name = "lock"});
  CHECK_FALSE(seen->data.contains("nvidia.com_gpu"));
  CHECK(b->PatchConfigMap({}, {.ns = "op",
                               .name = "lock",
                               .uid = seen->uid,
                               .resource_version = seen->resource_version,
                               .data = {{"nvidia.com_gpu", "2"}}})
            .ok());
  CHECK(world.data() == Data{{"nvidia.com_gpu_a", "1"}, {"nvidia.com_gpu_b", "2"}});
  CHECK(world.a->GetConfigMap({}, {.ns = "op", .name = "lock"})->data.at("nvidia.com_gpu") == "1");
}

TEST_CASE("grants of the driver as a whole are nothing to an owner, and the other way round") {
  World world;
  const Data both = {{"nvidia.com_gpu", "whole"}, {"nvidia.com_gpu_a", "a"}};
  REQUIRE(world.cluster->CreateConfigMap({}, {.ns = "op", .name = "lock", .data = both}).ok());
  CHECK(world.a->GetConfigMap({}, {.ns = "op", .name = "lock"})->data.at("nvidia.com_gpu") == "a");
  CHECK(examples::WithLedgerEntry(world.cluster, Gpu(), "") == world.cluster);
  CHECK(examples::LedgerEntry(Gpu(), "") == "nvidia.com_gpu");
}

}  // namespace
}  // namespace driverupgrade::tests
