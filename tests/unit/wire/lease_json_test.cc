#include <string>
#include <utility>

#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

constexpr char kLease[] = R"({
  "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
  "metadata": {"name": "gpu-operator", "namespace": "gpu", "uid": "u-l", "resourceVersion": "31",
               "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"a": "b"}, "managedFields": [{}]},
  "spec": {"holderIdentity": "host_1", "leaseDurationSeconds": 15, "acquireTime": "2026-01-02T03:04:05.000007Z",
           "renewTime": "2026-01-02T04:04:06.123456+01:00", "leaseTransitions": 3, "strategy": "OldestEmulationVersion"}
})";

absl::Time At(int second, int micros) {
  return absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, second), absl::UTCTimeZone()) + absl::Microseconds(micros);
}

const Lease kHeld{.ns = "gpu",
                  .name = "gpu-operator",
                  .uid = "u-l",
                  .resource_version = "31",
                  .holder = "host_1",
                  .duration = absl::Seconds(15),
                  .acquire_time = At(5, 7),
                  .renew_time = At(6, 123456),
                  .transitions = 3};

std::string Spec(const Lease& lease) {
  const std::string json = FormatObject(lease);
  return json.substr(json.find(R"("spec":)"));
}

TEST_CASE("a lease is parsed with a resolution of a microsecond") {
  const absl::StatusOr<Lease> lease = ParseObject<Lease>(kLease);
  REQUIRE(lease.ok());
  CHECK(*lease == kHeld);
}

TEST_CASE("the annotations of a lease are kept, and missing annotations are not added") {
  Lease lease = kHeld;
  CHECK(FormatObject(lease).find("annotations") == std::string::npos);
  lease.annotations = {{"nvidia.com/gpu-driver-upgrade.policy", R"({"":{"autoUpgrade":true}})"}, {"a", "ü"}};
  const absl::StatusOr<Lease> again = ParseObject<Lease>(FormatObject(lease));
  REQUIRE(again.ok());
  CHECK(*again == lease);
}

TEST_CASE("missing members of a lease are empty or zero") {
  const std::string spec = GENERATE(as<std::string>(), "null", "{}",
                                    R"({"holderIdentity":null,"leaseDurationSeconds":null,"acquireTime":null,)"
                                    R"("renewTime":null,"leaseTransitions":null})");
  const auto lease = ParseObject<Lease>(R"({"kind":"Lease","metadata":{"name":"l"},"spec":)" + spec + "}");
  REQUIRE(lease.ok());
  CHECK(*lease == Lease{.name = "l"});
}

TEST_CASE("a value of the wrong type in a lease causes an error that contains the path") {
  using Row = std::pair<std::string, std::string>;
  const auto [spec, error] = GENERATE(values<Row>({
      {R"({"holderIdentity":1})", "spec.holderIdentity: expected a string, got a number"},
      {R"({"leaseDurationSeconds":"15"})", "spec.leaseDurationSeconds: expected an integer, got a string"},
      {R"({"leaseDurationSeconds":4294967296})", "spec.leaseDurationSeconds: integer out of range"},
      {R"({"renewTime":"now"})", "spec.renewTime: expected an RFC 3339 time, got \"now\""},
      {R"({"leaseTransitions":1.5})", "spec.leaseTransitions: expected an integer"},
  }));
  const auto lease = ParseObject<Lease>(R"({"kind":"Lease","spec":)" + spec + "}");
  CHECK(std::string(lease.status().message()) == error);
}

TEST_CASE("a lease is written with six fractional digits, and is read back unchanged") {
  CHECK(FormatObject(kHeld) ==
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease",)"
        R"("metadata":{"name":"gpu-operator","namespace":"gpu","uid":"u-l","resourceVersion":"31"},)"
        R"("spec":{"holderIdentity":"host_1","leaseDurationSeconds":15,"acquireTime":"2026-01-02T03:04:05.000007Z",)"
        R"("renewTime":"2026-01-02T03:04:06.123456Z","leaseTransitions":3}})");
  CHECK(*ParseObject<Lease>(FormatObject(kHeld)) == kHeld);
  CHECK(*ParseObject<Lease>(FormatObject(Lease{})) == Lease{});
}

TEST_CASE("zero values in a lease are written, and a new lease has neither a UID nor a version") {
  CHECK(FormatObject(Lease{.ns = "gpu", .name = "l"}) ==
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l","namespace":"gpu"},)"
        R"("spec":{"holderIdentity":"","leaseDurationSeconds":0,"acquireTime":"1970-01-01T00:00:00.000000Z",)"
        R"("renewTime":"1970-01-01T00:00:00.000000Z","leaseTransitions":0}})");
}

TEST_CASE("a lease is written with values within the bounds of the schema") {
  Lease odd{.duration = -absl::Seconds(3), .acquire_time = absl::InfinitePast(), .renew_time = absl::InfiniteFuture()};
  CHECK(Spec(odd) == R"("spec":{"holderIdentity":"","leaseDurationSeconds":0,"acquireTime":null,"renewTime":null,)"
                     R"("leaseTransitions":0}})");
  odd.duration = absl::InfiniteDuration();
  odd.acquire_time = At(5, 7) + absl::Nanoseconds(999);
  CHECK(Spec(odd).starts_with(R"("spec":{"holderIdentity":"","leaseDurationSeconds":2147483647,)"
                              R"("acquireTime":"2026-01-02T03:04:05.000007Z")"));
}

TEST_CASE("a config map is parsed with its metadata and data, but without binaryData") {
  const auto config_map = ParseObject<ConfigMap>(R"({"kind":"ConfigMap","apiVersion":"v1",
    "metadata":{"name":"budget","namespace":"gpu","uid":"u-c","resourceVersion":"8","labels":{"a":"b"}},
    "data":{"n1":"{\"x\":1}","n2":""},"binaryData":{"blob":"AAEC"},"immutable":false})");
  REQUIRE(config_map.ok());
  CHECK(*config_map == ConfigMap{.ns = "gpu",
                                 .name = "budget",
                                 .uid = "u-c",
                                 .resource_version = "8",
                                 .labels = {{"a", "b"}},
                                 .data = {{"n1", R"({"x":1})"}, {"n2", ""}}});
  CHECK(ParseObject<ConfigMap>(R"({"kind":"ConfigMap","data":null})")->data.empty());
  CHECK(std::string(ParseObject<ConfigMap>(R"({"kind":"ConfigMap","data":{"a":1}})").status().message()) ==
        "data.a: expected a string, got a number");
}

TEST_CASE("a config map that is written and read again is unchanged") {
  const ConfigMap config_map{.ns = "gpu",
                             .name = "budget",
                             .uid = "u-c",
                             .resource_version = "8",
                             .labels = {{"l", "m"}},
                             .annotations = {{"n", "o"}},
                             .data = {{"a", "x\n\"y\""}, {"b", ""}}};
  CHECK(FormatObject(config_map) ==
        R"({"apiVersion":"v1","kind":"ConfigMap",)"
        R"("metadata":{"name":"budget","namespace":"gpu","uid":"u-c","resourceVersion":"8","labels":{"l":"m"},)"
        R"("annotations":{"n":"o"}},)"
        R"("data":{"a":"x\n\"y\"","b":""}})");
  CHECK(*ParseObject<ConfigMap>(FormatObject(config_map)) == config_map);
  CHECK(*ParseObject<ConfigMap>(FormatObject(ConfigMap{})) == ConfigMap{});
}

}  // namespace
}  // namespace driverupgrade
