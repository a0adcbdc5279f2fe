#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade {
namespace {

using Lines = std::vector<std::string>;

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<ClusterFacade> cluster = MakeRestCluster(transport, {});
  CallContext context;

  // Write a Lease if `lease` is true, and otherwise a ConfigMap. Both functions return the status of the write.
  absl::Status Create(bool lease);
  absl::Status Update(bool lease);
};

const Lease kLease{.ns = "gpu",
                   .name = "leader",
                   .uid = "u-l",
                   .resource_version = "31",
                   .holder = "host_1",
                   .duration = absl::Seconds(15),
                   .acquire_time = absl::FromUnixMicros(1767323045000007),
                   .renew_time = absl::FromUnixMicros(1767323046000008),
                   .transitions = 3};
const ConfigMap kConfigMap{
    .ns = "gpu", .name = "budget", .uid = "u-c", .resource_version = "8", .data = {{"key", "value"}}};
const PatchConfigMapParams kPatch{.ns = "gpu",
                                  .name = "budget",
                                  .uid = "u-c",
                                  .resource_version = "8",
                                  .data = {{"key", "va\"lue"}, {"old", std::nullopt}}};
const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/gpu/leases";
const std::string kConfigMaps = "/api/v1/namespaces/gpu/configmaps";

absl::Status World::Create(bool lease) {
  return lease ? cluster->CreateLease(context, kLease).status()
               : cluster->CreateConfigMap(context, kConfigMap).status();
}

absl::Status World::Update(bool lease) {
  return lease ? cluster->UpdateLease(context, kLease).status() : cluster->PatchConfigMap(context, kPatch).status();
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("a lease and a config map are read from their paths") {
  World world;
  for (const Operation operation : {Operation::kWatchNodes, Operation::kGetLease, Operation::kPatchConfigMap}) {
    CHECK(world.cluster->Supports(operation));
  }
  world.transport->Answer(200, FormatObject(kLease));
  CHECK(world.cluster->GetLease(world.context, {"gpu", "leader"}).value() == kLease);
  world.transport->Answer(200, FormatObject(kConfigMap));
  CHECK(world.cluster->GetConfigMap(world.context, {"gpu", "budget"}).value() == kConfigMap);
  world.transport->Answer(404, StatusBody(404, "NotFound", "no such lease"));
  const absl::Status status = world.cluster->GetLease(world.context, {"gpu", "leader"}).status();
  CHECK(absl::IsNotFound(status));
  CHECK(Text(status) == "get lease gpu/leader: 404 NotFound: no such lease");
  CHECK(world.transport->lines ==
        Lines{"GET " + kLeases + "/leader", "GET " + kConfigMaps + "/budget", "GET " + kLeases + "/leader"});
}

// Tests rule api-A26.
TEST_CASE("a new lease and a new config map are posted without UID and version") {
  World world;
  world.transport->Answer(201, FormatObject(kLease));
  CHECK(world.cluster->CreateLease(world.context, kLease).value() == kLease);
  world.transport->Answer(201, FormatObject(kConfigMap));
  CHECK(world.cluster->CreateConfigMap(world.context, kConfigMap).value() == kConfigMap);
  CHECK(world.transport->lines == Lines{"POST " + kLeases + "?fieldManager=driverupgrade",
                                        "POST " + kConfigMaps + "?fieldManager=driverupgrade"});
  Lease lease = kLease;
  ConfigMap config_map = kConfigMap;
  lease.uid = lease.resource_version = config_map.uid = config_map.resource_version = "";
  CHECK(world.transport->requests[0].body == FormatObject(lease));
  CHECK(world.transport->requests[1].body == FormatObject(config_map));
  CHECK(world.transport->requests[0].content_type == "application/json");
}

TEST_CASE("a lease is replaced, and a config map is patched, only at the version that the caller has read") {
  World world;
  world.transport->Answer(200, FormatObject(kLease));
  CHECK(world.cluster->UpdateLease(world.context, kLease).value() == kLease);
  world.transport->Answer(200, FormatObject(kConfigMap));
  CHECK(world.cluster->PatchConfigMap(world.context, kPatch).value() == kConfigMap);
  CHECK(world.transport->lines == Lines{"PUT " + kLeases + "/leader?fieldManager=driverupgrade",
                                        "PATCH " + kConfigMaps + "/budget?fieldManager=driverupgrade"});
  CHECK(world.transport->requests[0].body == FormatObject(kLease));
  // The patch does not contain labels, annotations, binaryData, or other keys, so they stay unchanged.
  CHECK(world.transport->requests[1].content_type == "application/merge-patch+json");
  CHECK(world.transport->requests[1].body ==
        R"({"metadata":{"uid":"u-c","resourceVersion":"8"},"data":{"key":"va\"lue","old":null}})");
}

TEST_CASE("creating an object with an existing name returns AlreadyExists") {
  World world;
  const bool lease = GENERATE(true, false);
  world.transport->Answer(409, GENERATE(as<std::string>(), "", StatusBody(409, "AlreadyExists", "exists")));
  const absl::Status status = world.Create(lease);
  CHECK(absl::IsAlreadyExists(status));
  CHECK(WasNotApplied(status));
  CHECK(Text(status).starts_with(lease ? "create lease gpu/leader: 409 " : "create config map gpu/budget: 409 "));
}

TEST_CASE("api-A25: updating an object that has changed, was replaced, or was deleted returns Aborted") {
  World world;
  const bool lease = GENERATE(true, false);
  world.transport->Answer(409, GENERATE(as<std::string>(), "", StatusBody(409, "Conflict", "has been modified"),
                                        StatusBody(409, "Conflict",
                                                   "Precondition failed: UID in precondition: u-l, "
                                                   "UID in object meta: ")));
  const absl::Status status = world.Update(lease);
  CHECK(absl::IsAborted(status));
  CHECK_FALSE(WasNotApplied(status));
  CHECK(Text(status).starts_with(lease ? "update lease gpu/leader: 409 " : "patch config map gpu/budget: 409 "));
}

TEST_CASE(
    "an update that violates the schema returns InvalidArgument, and an update of a missing object returns NotFound") {
  World world;
  const bool lease = GENERATE(true, false);
  world.transport->Answer(422, StatusBody(422, "Invalid", "must be greater than 0"));
  CHECK(absl::IsInvalidArgument(world.Update(lease)));
  world.transport->Answer(404, StatusBody(404, "NotFound", "not found"));
  CHECK(absl::IsNotFound(world.Update(lease)));
}

TEST_CASE("the response to a write of a lease or config map must be an object of this kind") {
  World world;
  const bool lease = GENERATE(true, false);
  for (int i = 0; i < 2; ++i) world.transport->Answer(200, R"({"kind":"Status","status":"Success"})");
  CHECK(absl::IsUnavailable(world.Create(lease)));
  CHECK(absl::IsUnavailable(world.Update(lease)));
}

TEST_CASE("the required members of a lease or config map are checked before a write is sent") {
  World world;
  Lease no_uid = kLease, no_version = kLease, bad_name = kLease, no_namespace = kLease;
  no_uid.uid = "";
  no_version.resource_version = "";
  bad_name.name = "a/b";
  no_namespace.ns = "";
  PatchConfigMapParams map_no_uid = kPatch, map_no_version = kPatch;
  map_no_uid.uid = "";
  map_no_version.resource_version = "";
  for (const absl::Status& status : {
           world.cluster->UpdateLease(world.context, no_uid).status(),
           world.cluster->UpdateLease(world.context, no_version).status(),
           world.cluster->UpdateLease(world.context, bad_name).status(),
           world.cluster->UpdateLease(world.context, no_namespace).status(),
           world.cluster->CreateLease(world.context, bad_name).status(),
           world.cluster->CreateLease(world.context, no_namespace).status(),
           world.cluster->PatchConfigMap(world.context, map_no_uid).status(),
           world.cluster->PatchConfigMap(world.context, map_no_version).status(),
           world.cluster->CreateConfigMap(world.context, {.name = "n"}).status(),
           world.cluster->GetLease(world.context, {"gpu", ".."}).status(),
           world.cluster->GetConfigMap(world.context, {"", "n"}).status(),
       }) {
    CHECK(absl::IsInvalidArgument(status));
    CHECK(RequestWasNotSent(status));
  }
  CHECK(Text(world.cluster->UpdateLease(world.context, no_version).status()) ==
        "update lease gpu/leader: no resource version given");
  CHECK(world.transport->lines.empty());
}

}  // namespace
}  // namespace driverupgrade
