#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "unit/wire/device_fixtures.h"

namespace driverupgrade {
namespace {

absl::Time At(int hour, int minute, int second) {
  return absl::FromCivil(absl::CivilSecond(2026, 11, 26, hour, minute, second), absl::UTCTimeZone());
}

const DeviceTaintRule kRule{.name = "gpu.nvidia.com-5f2c",
                            .uid = "7b0d52c4-3a57-4a11-8a6a-0f3c8c1b2d10",
                            .resource_version = "5531",
                            .generation = 2,
                            .labels = {{"app.kubernetes.io/managed-by", "driverupgrade"}},
                            .node_name = "gpu-7",
                            .node_uid = "u-7",
                            .driver = "gpu.nvidia.com",
                            .pool = "gpu-7",
                            .key = "nvidia.com/gpu-driver-upgrade",
                            .value = "upgrading",
                            .effect = DeviceTaintEffect::kNoSchedule,
                            .time_added = At(9, 0, 1),
                            .conditions = {{.type = "EvictionInProgress",
                                            .status = "False",
                                            .reason = "OtherEffect",
                                            .message = "Evicting pods is not needed for this effect.",
                                            .last_transition_time = At(9, 0, 1),
                                            .observed_generation = 2}}};

const ResourceClaim kClaim{.ns = "team-a",
                           .name = "train-0-gpu-9hm2c",
                           .uid = "u-claim",
                           .resource_version = "6001",
                           .pod_uid = "u-train",
                           .allocated = {{.driver = "compute-domain.nvidia.com", .pool = "gpu-7"},
                                         {.driver = "gpu.nvidia.com", .pool = "gpu-7", .admin_access = true}},
                           .allocation_time = At(8, 0, 2),
                           .reserved_for = {{.resource = "pods", .name = "train-0", .uid = "u-train"},
                                            {.resource = "podgroups", .name = "train", .uid = "u-zz"}}};

const ResourceSlice kSlice{.name = "0-gpu.nvidia.com-gpu-7-x2k4z",
                           .uid = "u-slice",
                           .resource_version = "42",
                           .node_name = "gpu-7",
                           .driver = "gpu.nvidia.com",
                           .pool = "gpu-7",
                           .pool_generation = 3,
                           .pool_slices = 1,
                           .devices = {{.name = "gpu-0", .driver_version = "580.126.20"},
                                       {.name = "gpu-1", .driver_version = "580.126.20-open"},
                                       {.name = "nic-0"}}};

template <typename T>
std::string ErrorOf(std::string_view kind, const std::string& members) {
  const auto object = ParseObject<T>(fmt::format(R"({{"kind":"{}",{}}})", kind, members));
  REQUIRE_FALSE(object.ok());
  CHECK(absl::IsInvalidArgument(object.status()));
  return std::string(object.status().message());
}

TEST_CASE("DRA objects are parsed with all fields that an upgrade needs") {
  CHECK(ParseObject<DeviceTaintRule>(fixtures::kDeviceTaintRule).value() == kRule);
  CHECK(ParseObject<ResourceClaim>(fixtures::kResourceClaim).value() == kClaim);
  CHECK(ParseObject<ResourceSlice>(fixtures::kResourceSlice).value() == kSlice);
}

TEST_CASE("missing members of a DRA object are empty") {
  CHECK(ParseObject<ResourceClaim>(R"({"kind":"ResourceClaim","status":{}})").value() == ResourceClaim{});
  CHECK(ParseObject<ResourceSlice>(R"({"kind":"ResourceSlice","spec":null})").value() == ResourceSlice{});
  const auto rule = ParseObject<DeviceTaintRule>(R"({"kind":"DeviceTaintRule","spec":{"taint":{"effect":"None"}}})");
  CHECK(rule.value() == DeviceTaintRule{});
}

TEST_CASE("A-9: a claim belongs to a pod only if its controller is a Pod of the core API") {
  const auto owner = GENERATE(as<std::string>(), R"("apiVersion":"v1","kind":"Pod")",
                              R"("apiVersion":"example.com/v1","kind":"Pod","controller":true)",
                              R"("apiVersion":"scheduling.k8s.io/v1","kind":"PodGroup","controller":true)");
  const auto claim = ParseObject<ResourceClaim>(fmt::format(
      R"({{"kind":"ResourceClaim","metadata":{{"ownerReferences":[{{{},"name":"a","uid":"u"}}]}}}})", owner));
  CHECK(claim.value().pod_uid.empty());
}

TEST_CASE("lists and watch events of DRA objects are parsed") {
  const auto page = ParseList<ResourceClaim>(
      fmt::format(R"({{"kind":"ResourceClaimList","metadata":{{"resourceVersion":"9","continue":"c"}},"items":[{}]}})",
                  fixtures::kResourceClaim));
  CHECK(page.value().items == std::vector{kClaim});
  const auto rule =
      ParseWatchEvent<DeviceTaintRule>(fmt::format(R"({{"type":"MODIFIED","object":{}}})", fixtures::kDeviceTaintRule));
  CHECK(rule.value().object == kRule);
  const auto slice =
      ParseWatchEvent<ResourceSlice>(fmt::format(R"({{"type":"DELETED","object":{}}})", fixtures::kResourceSlice));
  CHECK(slice.value().object == kSlice);
  const auto error = ParseWatchEvent<ResourceClaim>(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})");
  CHECK(error.value().error.code == 410);
}

TEST_CASE("an error in a DRA object contains the path") {
  using Row = std::pair<std::string, std::string>;
  const auto [rule, rule_error] = GENERATE(values<Row>({
      {R"("spec":{})", "spec.taint.effect: expected the effect of a device taint, got \"\""},
      {R"("spec":{"taint":{"effect":"PreferNoSchedule"}})",
       "spec.taint.effect: expected the effect of a device taint, got \"PreferNoSchedule\""},
      {R"("spec":{"taint":{"effect":"None","timeAdded":"now"}})",
       "spec.taint.timeAdded: expected an RFC 3339 time, got \"now\""},
      {R"("spec":{"deviceSelector":[],"taint":{"effect":"None"}})",
       "spec.deviceSelector: expected an object, got an array"},
  }));
  CHECK(ErrorOf<DeviceTaintRule>("DeviceTaintRule", rule) == rule_error);
  const auto [claim, claim_error] = GENERATE(values<Row>({
      {R"("status":{"allocation":{"devices":{"results":{}}}})",
       "status.allocation.devices.results: expected an array, got an object"},
      {R"("status":{"allocation":{"devices":{"results":[{"pool":7}]}}})",
       "status.allocation.devices.results[0].pool: expected a string, got a number"},
      {R"("status":{"reservedFor":[{"uid":[]}]})", "status.reservedFor[0].uid: expected a string, got an array"},
  }));
  CHECK(ErrorOf<ResourceClaim>("ResourceClaim", claim) == claim_error);
  CHECK(ErrorOf<ResourceSlice>("ResourceSlice", R"("spec":{"devices":[{"attributes":{"driverVersion":"5"}}]})") ==
        "spec.devices[0].attributes.driverVersion: expected an object, got a string");
}

TEST_CASE("a device taint rule or slice that cannot be parsed still contains its name and its node") {
  const auto rules = ParseList<DeviceTaintRule>(
      R"({"kind":"DeviceTaintRuleList","items":[
          {"metadata":{"name":"r","uid":"u","resourceVersion":"1","labels":{"a":"b"},
                       "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gpu-7","uid":"u-7"}]},
           "spec":{"deviceSelector":{"driver":"d","pool":"p"},"taint":{"effect":"Later"}}}]})",
      OnUnreadable::kMark);
  CHECK(rules.value().items ==
        std::vector{DeviceTaintRule{.name = "r",
                                    .uid = "u",
                                    .resource_version = "1",
                                    .labels = {{"a", "b"}},
                                    .node_name = "gpu-7",
                                    .node_uid = "u-7",
                                    .driver = "d",
                                    .pool = "p",
                                    .unreadable = "spec.taint.effect: expected the effect of a device taint, "
                                                  "got \"Later\""}});
  const auto claims = ParseList<ResourceClaim>(
      R"({"kind":"ResourceClaimList","items":[
          {"metadata":{"name":"c","namespace":"a","uid":"u","resourceVersion":"1","labels":[]},
           "status":{"allocation":{"devices":{"results":[{"driver":"d","pool":"p"}]},"allocationTimestamp":"x"}}}]})",
      OnUnreadable::kMark);
  REQUIRE(claims.value().items.size() == 1);
  CHECK_FALSE(claims->items[0].unreadable.empty());
  const auto slices = ParseList<ResourceSlice>(
      R"({"kind":"ResourceSliceList","items":[{"metadata":{"name":"s"},"spec":{"nodeName":"gpu-7","driver":"d","devices":7}}]})",
      OnUnreadable::kMark);
  CHECK(slices.value().items ==
        std::vector{ResourceSlice{.name = "s",
                                  .node_name = "gpu-7",
                                  .driver = "d",
                                  .unreadable = "spec.devices: expected an array, got a number"}});
}

TEST_CASE("the parser refuses every proper prefix of a DRA object, and does not crash") {
  for (const std::string_view whole :
       {fixtures::kDeviceTaintRule, fixtures::kResourceClaim, fixtures::kResourceSlice}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      REQUIRE_FALSE(ParseObject<DeviceTaintRule>(whole.substr(0, length)).ok());
      REQUIRE_FALSE(ParseObject<ResourceClaim>(whole.substr(0, length)).ok());
      REQUIRE_FALSE(ParseObject<ResourceSlice>(whole.substr(0, length)).ok());
    }
  }
}

TEST_CASE("a DRA object that is written in the format of the API server is read back unchanged") {
  CHECK(ParseObject<DeviceTaintRule>(FormatObject(kRule)).value() == kRule);
  CHECK(ParseObject<ResourceClaim>(FormatObject(kClaim)).value() == kClaim);
  ResourceSlice slice = kSlice;
  CHECK(ParseObject<ResourceSlice>(FormatObject(slice)).value() == slice);
  CHECK(ParseList<ResourceClaim>(FormatList(ListPage<ResourceClaim>{.items = {kClaim, {}}})).value().items ==
        std::vector{kClaim, {}});
}

TEST_CASE("F5: a rule is created with the Node as owner, and without the members that the server sets") {
  CHECK(FormatDeviceTaintRule({.object = kRule}) ==
        R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"gpu.nvidia.com-5f2c",)"
        R"("labels":{"app.kubernetes.io/managed-by":"driverupgrade"},)"
        R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gpu-7","uid":"u-7"}]},)"
        R"("spec":{"deviceSelector":{"driver":"gpu.nvidia.com","pool":"gpu-7"},)"
        R"("taint":{"key":"nvidia.com/gpu-driver-upgrade","value":"upgrading","effect":"NoSchedule"}}})");
}

TEST_CASE("the patch of a rule contains the effect and both preconditions") {
  CHECK(FormatDeviceTaintRulePatch(
            {.name = "r", .uid = "u", .resource_version = "5", .effect = DeviceTaintEffect::kNone}) ==
        R"({"metadata":{"uid":"u","resourceVersion":"5"},"spec":{"taint":{"effect":"None"}}})");
  CHECK(FormatDeleteOptions(DeleteDeviceTaintRuleParams{.name = "r", .uid = "u"}) ==
        R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}})");
}

TEST_CASE("DRA objects in a mixed list are recognized by their group, whatever its version") {
  const auto objects = ParseMixedList(fmt::format(
      R"({{"apiVersion":"v1","kind":"List","items":[{},{},{},
          {{"apiVersion":"resource.k8s.io/v1beta2","kind":"ResourceClaim","metadata":{{"name":"b","namespace":"a"}}}},
          {{"apiVersion":"example.com/v1","kind":"ResourceSlice","metadata":7}}]}})",
      fixtures::kResourceSlice, fixtures::kDeviceTaintRule, fixtures::kResourceClaim));
  REQUIRE(objects.ok());
  CHECK(objects->device_taint_rules == std::vector{kRule});
  CHECK(objects->resource_claims == std::vector{kClaim, ResourceClaim{.ns = "a", .name = "b"}});
  CHECK(objects->resource_slices == std::vector{kSlice});
}

}  // namespace
}  // namespace driverupgrade
