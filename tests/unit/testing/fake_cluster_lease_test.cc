#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;

struct World {
  absl::StatusOr<Lease> Create() {
    return cluster.CreateLease({}, {.ns = "a",
                                    .name = "leader",
                                    .holder = "one",
                                    .duration = absl::Seconds(15),
                                    .acquire_time = clock->Now(),
                                    .renew_time = clock->Now()});
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster{clock};
};

TEST_CASE("a lease is created once, and read back as it was created (api-A55)") {
  World world;
  CHECK(absl::IsNotFound(world.cluster.GetLease({}, {"a", "leader"}).status()));
  const absl::StatusOr<Lease> made = world.Create();
  REQUIRE(made.ok());
  CHECK_FALSE(made->uid.empty());
  CHECK(made->resource_version == "1001");
  CHECK(made->holder == "one");
  CHECK(world.cluster.GetLease({}, {"a", "leader"}).value() == *made);
  CHECK(world.cluster.lease("a", "leader") == *made);
  CHECK(absl::IsAlreadyExists(world.Create().status()));
  CHECK(world.cluster.revision() == 1001);
  CHECK_FALSE(world.cluster.lease("b", "leader").has_value());
}

TEST_CASE("a client that knows the version of a lease can replace it once (api-A25)") {
  World world;
  const Lease made = world.Create().value();
  Lease lease = made;
  lease.holder = "two";
  lease.transitions = 1;
  const absl::StatusOr<Lease> taken = world.cluster.UpdateLease({}, lease);
  REQUIRE(taken.ok());
  CHECK(taken->holder == "two");
  CHECK(taken->resource_version == "1002");
  CHECK(taken->uid == made.uid);

  lease.holder = "three";
  CHECK(absl::IsAborted(world.cluster.UpdateLease({}, lease).status()));
  lease.resource_version = taken->resource_version;
  lease.uid = "another";
  CHECK(absl::IsAborted(world.cluster.UpdateLease({}, lease).status()));
  CHECK(world.cluster.lease("a", "leader")->holder == "two");
  lease.uid.clear();
  CHECK(world.cluster.UpdateLease({}, lease)->holder == "three");
}

TEST_CASE("an update that changes nothing keeps the version") {
  World world;
  const Lease made = world.Create().value();
  CHECK(world.cluster.UpdateLease({}, made).value() == made);
  CHECK(world.cluster.revision() == 1001);
}

TEST_CASE("an update needs a version, and an existing lease") {
  World world;
  Lease lease = world.Create().value();
  lease.resource_version.clear();
  CHECK(absl::IsInvalidArgument(world.cluster.UpdateLease({}, lease).status()));
  lease.resource_version = "1001";
  CHECK(world.cluster.RemoveLease("a", "leader"));
  CHECK_FALSE(world.cluster.RemoveLease("a", "leader"));
  CHECK(absl::IsNotFound(world.cluster.UpdateLease({}, lease).status()));
  CHECK(absl::IsInvalidArgument(world.cluster.CreateLease({}, {.name = "leader"}).status()));
}

TEST_CASE("a lease keeps times with the precision of the API: whole seconds and microseconds") {
  World world;
  const Lease lease{.ns = "a",
                    .name = "leader",
                    .duration = absl::Milliseconds(15900),
                    .renew_time = absl::FromUnixNanos(1'767'225'600'123'456'789)};
  const absl::StatusOr<Lease> made = world.cluster.CreateLease({}, lease);
  CHECK(made->duration == absl::Seconds(15));
  CHECK(made->renew_time == absl::FromUnixMicros(1'767'225'600'123'456));
}

TEST_CASE("a config map is created once, and a client that knows its version can patch it") {
  World world;
  FakeCluster& cluster = world.cluster;
  ConfigMap map{.ns = "a", .name = "budgets", .labels = {{"team", "a"}}, .data = {{"x", "1"}, {"z", "2"}}};
  CHECK(absl::IsNotFound(cluster.GetConfigMap({}, {"a", "budgets"}).status()));
  const absl::StatusOr<ConfigMap> made = cluster.CreateConfigMap({}, map);
  REQUIRE(made.ok());
  CHECK(absl::IsAlreadyExists(cluster.CreateConfigMap({}, map).status()));
  PatchConfigMapParams patch{.ns = "a", .name = "budgets", .data = {{"y", "ü\n"}, {"x", std::nullopt}}};
  CHECK(absl::IsInvalidArgument(cluster.PatchConfigMap({}, patch).status()));
  patch.uid = made->uid;
  CHECK(absl::IsInvalidArgument(cluster.PatchConfigMap({}, patch).status()));
  patch.resource_version = made->resource_version;
  map.data = {{"y", "ü\n"}, {"z", "2"}};
  CHECK(cluster.PatchConfigMap({}, patch)->data == map.data);
  CHECK(absl::IsAborted(cluster.PatchConfigMap({}, patch).status()));
  CHECK(cluster.GetConfigMap({}, {"a", "budgets"})->data == map.data);
  CHECK(cluster.config_map("a", "budgets")->labels == map.labels);
  CHECK(cluster.config_map("a", "budgets")->uid == made->uid);
  CHECK(cluster.RemoveConfigMap("a", "budgets"));
  CHECK(absl::IsNotFound(cluster.PatchConfigMap({}, patch).status()));
  CHECK_FALSE(cluster.config_map("a", "budgets").has_value());
}

TEST_CASE("in a terminating namespace no objects can be created, but existing objects can be updated") {
  World world;
  Lease lease = world.Create().value();
  world.cluster.TerminateNamespace("a");
  CHECK(absl::IsPermissionDenied(world.cluster.CreateLease({}, {.ns = "a", .name = "other"}).status()));
  CHECK(absl::IsPermissionDenied(world.cluster.CreateConfigMap({}, {.ns = "a", .name = "other"}).status()));
  CHECK_FALSE(world.cluster.lease("a", "other").has_value());
  lease.holder.clear();
  CHECK(world.cluster.UpdateLease({}, lease).ok());
}

TEST_CASE("calls for leases can be made to fail, and a client finds its write if the response was lost (fault-F6)") {
  World world;
  Lease lease = world.Create().value();
  lease.holder = "two";
  world.cluster.FailNext(Operation::kUpdateLease, absl::UnavailableError("etcd"));
  CHECK(absl::IsUnavailable(world.cluster.UpdateLease({}, lease).status()));
  CHECK(world.cluster.lease("a", "leader")->holder == "one");
  world.cluster.FailNextAfterApplying(Operation::kUpdateLease, absl::DeadlineExceededError("no answer"));
  CHECK(absl::IsDeadlineExceeded(world.cluster.UpdateLease({}, lease).status()));
  CHECK(absl::IsAborted(world.cluster.UpdateLease({}, lease).status()));
  CHECK(world.cluster.GetLease({}, {"a", "leader"})->holder == "two");
  CHECK(world.cluster.CallCount(Operation::kUpdateLease) == 3);
  CHECK(world.cluster.journal()[1].object == "a/leader");
  CHECK(world.cluster.journal()[1].parameters == "resourceVersion=1001 holder=two");
}

TEST_CASE("the observer sees leases and config maps") {
  World world;
  std::vector<std::string> seen;
  world.cluster.SetChangeObserver([&](const Change& change) {
    if (change.lease.after != nullptr) seen.push_back("lease " + change.lease.after->holder);
    if (change.lease.before != nullptr && change.lease.after == nullptr) seen.push_back("no lease");
    if (change.config_map.after != nullptr) seen.push_back("config map " + change.config_map.after->name);
  });
  REQUIRE(world.Create().ok());
  REQUIRE(world.cluster.CreateConfigMap({}, {.ns = "a", .name = "m"}).ok());
  world.cluster.RemoveLease("a", "leader");
  CHECK(seen == std::vector<std::string>{"lease one", "config map m", "no lease"});
}

}  // namespace
}  // namespace driverupgrade
