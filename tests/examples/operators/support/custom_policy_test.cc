#include "support/custom_policy.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using examples::ParseJson;
using examples::ReadFlag;
using examples::ReadUpgradePolicy;

TEST_CASE("if the section is missing, all fields have the operator's defaults, and so does autoUpgrade") {
  const auto json = ParseJson(R"({"spec":{"driver":{"upgradePolicy":null}}})");
  for (const char* field : {"upgradePolicy", "another"}) {
    const auto on = ReadUpgradePolicy(*json, {"spec", "driver", field}, PolicyDefaults::GpuOperator());
    REQUIRE(on.ok());
    CHECK(on->auto_upgrade);
    CHECK(on->max_unavailable == CountOrPercent(Percent{25}));
    CHECK_FALSE(ReadUpgradePolicy(*json, {"spec", "driver", field}, PolicyDefaults::NetworkOperator())->auto_upgrade);
  }
}

TEST_CASE("an error names the section and the field") {
  const auto json = ParseJson(R"({"spec":{"upgradePolicy":{"drain":{"timeoutSeconds":-5}},"flag":"yes","list":[]}})");
  const absl::Status error = ReadUpgradePolicy(*json, {"spec", "upgradePolicy"}, {}).status();
  CHECK(error == absl::InvalidArgumentError("in spec.upgradePolicy: drain.timeoutSeconds: must be >= 0, got -5"));
  CHECK(ReadUpgradePolicy(*json, {"spec", "list"}, {}).status() ==
        absl::InvalidArgumentError("spec.list: must be an object, got []"));
  CHECK(ReadFlag(*json, {"spec", "flag"}).status() ==
        absl::InvalidArgumentError(R"(spec.flag: must be true or false, got "yes")"));
  CHECK_FALSE(*ReadFlag(*json, {"spec", "absent"}));
}

TEST_CASE("the creation time is read, and defaults to the epoch") {
  CHECK(examples::CreationTime(*ParseJson(R"({"metadata":{"creationTimestamp":"1970-01-01T00:01:00Z"}})")) ==
        absl::UnixEpoch() + absl::Minutes(1));
  CHECK(examples::CreationTime(*ParseJson("{}")) == absl::UnixEpoch());
}

}  // namespace
}  // namespace driverupgrade::tests
