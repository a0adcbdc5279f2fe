#include "ofed/init_config.h"

#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/json.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using examples::Flag;
using examples::Integer;
using examples::ParseJson;
using examples::Text;
using ofed_operator::InitConfig;
using ofed_operator::InitConfigKeeper;
using ofed_operator::kInitConfigKey;
using ofed_operator::kInitConfigMap;
using testing::FakeClock;
using testing::FakeCluster;

TEST_CASE("upstream 2.5: safe load is on if the policy enables both autoUpgrade and safeLoad") {
  for (const bool on : {false, true}) {
    for (const bool safe : {false, true}) {
      const auto config = ParseJson(InitConfig("", Ofed(), {.auto_upgrade = on, .safe_load = safe}));
      REQUIRE(config.ok());
      CHECK(Flag(*config, {"safeDriverLoad", "enable"}) == (on && safe));
      CHECK(Text(*config, {"safeDriverLoad", "annotation"}) ==
            "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load");
    }
  }
}

TEST_CASE("other sections are kept, and text that already has the target value stays unchanged") {
  const UpgradePolicy policy{.auto_upgrade = true, .safe_load = true};
  const std::string before = R"({ "moduleDependencyCheck": {"n": 7}, "safeDriverLoad": {"enable": false} })";
  const std::string after = InitConfig(before, Ofed(), policy);
  CHECK(Integer(*ParseJson(after), {"moduleDependencyCheck", "n"}) == 7);
  CHECK(Flag(*ParseJson(after), {"safeDriverLoad", "enable"}));
  CHECK(InitConfig(" " + after, Ofed(), policy) == " " + after);
  CHECK(InitConfig("[1]", Ofed(), policy) == InitConfig("", Ofed(), policy));
}

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  InitConfigKeeper keeper{cluster, "net", Ofed(), clock};
  UpgradePolicy policy = {.auto_upgrade = true, .safe_load = true};
  std::string Config() const { return cluster->config_map("net", kInitConfigMap)->data.at(kInitConfigKey); }
};

TEST_CASE("the ConfigMap is created, then changed with the policy, and checked periodically") {
  World world;
  world.keeper.Keep({}, world.policy);
  CHECK(Flag(*ParseJson(world.Config()), {"safeDriverLoad", "enable"}));
  world.keeper.Keep({}, world.policy);
  CHECK(world.cluster->CallCount(Operation::kGetConfigMap) == 1);
  world.policy.safe_load = false;
  world.keeper.Keep({}, world.policy);
  CHECK_FALSE(Flag(*ParseJson(world.Config()), {"safeDriverLoad", "enable"}));
  world.cluster->RemoveConfigMap("net", kInitConfigMap);
  world.clock->Advance(absl::Minutes(2));
  world.keeper.Keep({}, world.policy);
  CHECK(world.cluster->config_map("net", kInitConfigMap).has_value());
  CHECK(world.cluster->CallCount(Operation::kPatchConfigMap) == 1);
}

TEST_CASE("a forbidden read of the ConfigMap is retried soon") {
  World world;
  world.cluster->FailNext(Operation::kGetConfigMap, absl::PermissionDeniedError("cannot get resource configmaps"));
  CHECK(world.keeper.Keep({}, world.policy) == world.clock->Now() + absl::Seconds(5));
  CHECK(absl::IsPermissionDenied(world.keeper.status()));
  world.keeper.Keep({}, world.policy);
  CHECK(world.keeper.status().ok());
}

}  // namespace
}  // namespace driverupgrade::tests
