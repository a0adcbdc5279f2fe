// Contract cases for Leases and ConfigMaps.

#include "base/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::testing::internal {

namespace {

absl::StatusOr<Lease> MakeLease(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  return world.facade().CreateLease(world.context(), {.ns = ns,
                                                      .name = "leader",
                                                      .annotations = {{"note", "ü \"\n{}"}},
                                                      .holder = "ü \"one\"",
                                                      .duration = absl::Seconds(15),
                                                      .acquire_time = absl::FromUnixMicros(1767323045123456),
                                                      .renew_time = absl::FromUnixMicros(1767323055000001),
                                                      .transitions = 3});
}

absl::StatusOr<ConfigMap> MakeConfigMap(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  return world.facade().CreateConfigMap(world.context(), {.ns = ns,
                                                          .name = "budgets",
                                                          .labels = {{"team", "a"}},
                                                          .annotations = {{"note", "ü \"\n{}"}},
                                                          .data = {{"plain", "1"}, {"odd", "ü \"\n{}"}, {"none", ""}}});
}

absl::Status LeaseIsReadAsCreated(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Lease made, MakeLease(world));
  EXPECT_THAT(!made.uid.empty() && !made.resource_version.empty(), "no UID or resource version");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Lease lease, world.facade().GetLease(world.context(), {made.ns, "leader"}));
  EXPECT_THAT(lease == made, lease.resource_version);
  EXPECT_THAT(lease.holder == "ü \"one\"", lease.holder);
  EXPECT_THAT(lease.annotations == made.annotations && lease.annotations.contains("note"), lease.annotations.size());
  EXPECT_THAT(lease.duration == absl::Seconds(15), absl::FormatDuration(lease.duration));
  EXPECT_THAT(lease.acquire_time == absl::FromUnixMicros(1767323045123456), absl::FormatTime(lease.acquire_time));
  EXPECT_THAT(lease.renew_time == absl::FromUnixMicros(1767323055000001), absl::FormatTime(lease.renew_time));
  EXPECT_THAT(lease.transitions == 3, lease.transitions);
  const absl::Status again = world.facade().CreateLease(world.context(), made).status();
  EXPECT_THAT(absl::IsAlreadyExists(again), Describe(again));
  const absl::Status none = world.facade().GetLease(world.context(), {made.ns, "none"}).status();
  EXPECT_THAT(absl::IsNotFound(none), Describe(none));
  return absl::OkStatus();
}

absl::Status LeaseIsReplacedOnce(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Lease made, MakeLease(world));
  Lease mine = made;
  mine.holder = "two";
  mine.transitions = 4;
  mine.annotations = {{"other", "1"}};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Lease taken, world.facade().UpdateLease(world.context(), mine));
  EXPECT_THAT(taken.holder == "two" && taken.transitions == 4, taken.holder);
  EXPECT_THAT(taken.annotations == mine.annotations, taken.annotations.size());
  EXPECT_THAT(taken.uid == made.uid && taken.duration == made.duration, taken.uid);
  EXPECT_THAT(taken.resource_version != made.resource_version, taken.resource_version);
  Lease stale = made;
  stale.holder = "three";
  const absl::Status late = world.facade().UpdateLease(world.context(), stale).status();
  EXPECT_THAT(absl::IsAborted(late), Describe(late));
  stale.resource_version = taken.resource_version;
  stale.uid = kOtherUid;
  const absl::Status other = world.facade().UpdateLease(world.context(), stale).status();
  EXPECT_THAT(absl::IsAborted(other), Describe(other));
  stale.uid = made.uid;
  stale.resource_version.clear();
  const absl::Status blind = world.facade().UpdateLease(world.context(), stale).status();
  EXPECT_THAT(absl::IsInvalidArgument(blind), Describe(blind));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Lease after, world.facade().GetLease(world.context(), {made.ns, "leader"}));
  EXPECT_THAT(after == taken, after.holder);
  mine = taken;
  mine.holder.clear();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Lease freed, world.facade().UpdateLease(world.context(), mine));
  EXPECT_THAT(freed.holder.empty(), freed.holder);
  return absl::OkStatus();
}

// The request names a missing lease, but contains the UID of an existing lease as its precondition. Without the UID,
// the PUT would create the missing lease.
absl::Status MissingLeaseIsNotUpdated(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(Lease lease, MakeLease(world));
  lease.name = "none";
  const absl::Status status = world.facade().UpdateLease(world.context(), lease).status();
  EXPECT_THAT(absl::IsNotFound(status) || absl::IsAborted(status), Describe(status));
  const absl::Status none = world.facade().GetLease(world.context(), {lease.ns, "none"}).status();
  EXPECT_THAT(absl::IsNotFound(none), Describe(none));
  return absl::OkStatus();
}

absl::Status ConfigMapIsReadAsCreated(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ConfigMap made, MakeConfigMap(world));
  EXPECT_THAT(!made.uid.empty() && !made.resource_version.empty(), "no UID or resource version");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ConfigMap map,
                                 world.facade().GetConfigMap(world.context(), {made.ns, "budgets"}));
  EXPECT_THAT(map == made, map.resource_version);
  const std::map<std::string, std::string> data = {{"plain", "1"}, {"odd", "ü \"\n{}"}, {"none", ""}};
  EXPECT_THAT(map.data == data, map.data.size());
  const absl::Status again = world.facade().CreateConfigMap(world.context(), made).status();
  EXPECT_THAT(absl::IsAlreadyExists(again), Describe(again));
  const absl::Status none = world.facade().GetConfigMap(world.context(), {made.ns, "none"}).status();
  EXPECT_THAT(absl::IsNotFound(none), Describe(none));
  return absl::OkStatus();
}

PatchConfigMapParams PatchOf(const ConfigMap& map) {
  return {.ns = map.ns,
          .name = map.name,
          .uid = map.uid,
          .resource_version = map.resource_version,
          .data = {{"new", "ü \"\n{}"}, {"plain", "2"}, {"odd", std::nullopt}, {"absent", std::nullopt}}};
}

// Other clients also use the config map: a patch must not touch keys that it does not name.
absl::Status ConfigMapIsPatchedKeyByKey(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(ConfigMap map, MakeConfigMap(world));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ConfigMap patched, world.facade().PatchConfigMap(world.context(), PatchOf(map)));
  EXPECT_THAT(patched.resource_version != map.resource_version, patched.resource_version);
  map.resource_version = patched.resource_version;
  map.data = {{"new", "ü \"\n{}"}, {"plain", "2"}, {"none", ""}};
  EXPECT_THAT(patched.labels == map.labels && patched.annotations == map.annotations, patched.labels.size());
  EXPECT_THAT(patched.data == map.data, patched.data.size());
  EXPECT_THAT(patched == map, patched.uid);
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ConfigMap after,
                                 world.facade().GetConfigMap(world.context(), {map.ns, map.name}));
  EXPECT_THAT(after == patched, after.data.size());
  return absl::OkStatus();
}

absl::Status ConfigMapIsPatchedOnce(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ConfigMap made, MakeConfigMap(world));
  const PatchConfigMapParams patch = PatchOf(made);
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ConfigMap taken, world.facade().PatchConfigMap(world.context(), patch));
  PatchConfigMapParams stale = patch;
  const absl::Status late = world.facade().PatchConfigMap(world.context(), stale).status();
  EXPECT_THAT(absl::IsAborted(late), Describe(late));
  stale.resource_version = taken.resource_version;
  stale.uid = kOtherUid;
  const absl::Status other = world.facade().PatchConfigMap(world.context(), stale).status();
  EXPECT_THAT(absl::IsAborted(other), Describe(other));
  stale.uid = made.uid;
  stale.resource_version.clear();
  const absl::Status blind = world.facade().PatchConfigMap(world.context(), stale).status();
  EXPECT_THAT(absl::IsInvalidArgument(blind), Describe(blind));
  PatchConfigMapParams missing = PatchOf(taken);
  missing.name = "none";
  const absl::Status none = world.facade().PatchConfigMap(world.context(), missing).status();
  EXPECT_THAT(absl::IsNotFound(none) || absl::IsAborted(none), Describe(none));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ConfigMap after,
                                 world.facade().GetConfigMap(world.context(), {made.ns, "budgets"}));
  EXPECT_THAT(after == taken, after.data.size());
  return absl::OkStatus();
}

}  // namespace

std::vector<NeededCase> LeaseCases() {
  using enum Operation;
  return {
      {"a lease is created once and read as it was created", {{kCreateLease}, {kGetLease}}, LeaseIsReadAsCreated},
      {"a lease is replaced only if its version matches",
       {{kCreateLease}, {kGetLease}, {kUpdateLease}},
       LeaseIsReplacedOnce},
      {"a missing lease is not updated", {{kCreateLease}, {kGetLease}, {kUpdateLease}}, MissingLeaseIsNotUpdated},
      {"a config map is created once and read as it was created",
       {{kCreateConfigMap}, {kGetConfigMap}},
       ConfigMapIsReadAsCreated},
      {"a config map is patched key by key, and the rest of it does not change",
       {{kCreateConfigMap}, {kGetConfigMap}, {kPatchConfigMap}},
       ConfigMapIsPatchedKeyByKey},
      {"a config map is patched only if its version matches",
       {{kCreateConfigMap}, {kGetConfigMap}, {kPatchConfigMap}},
       ConfigMapIsPatchedOnce},
  };
}

}  // namespace driverupgrade::testing::internal
