#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"
#include "unit/wire/fixtures.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade {
namespace {

using Lines = std::vector<std::string>;

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<ClusterFacade> cluster = MakeRestCluster(transport, {});
  CallContext context;
};

const std::string kCollection = "/apis/maintenance.nvidia.com/v1alpha1/namespaces/default/nodemaintenances";
const NodeMaintenance kRequest{
    .ns = "default", .name = "nvidia-operator-gpu-7", .requestor_id = "nvidia.gpu.operator", .node_name = "gpu-7"};
const PatchNodeMaintenanceParams kJoin{.ns = "default",
                                       .name = "nvidia-operator-gpu-7",
                                       .uid = "u-nm",
                                       .resource_version = "812",
                                       .additional_requestors = std::vector<std::string>{"nic"}};
const DeleteNodeMaintenanceParams kDelete{.ns = "default", .name = "nvidia-operator-gpu-7", .uid = "u-nm"};

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("NodeMaintenances are supported, and read from the correct paths") {
  World world;
  for (const Operation operation :
       {Operation::kGetNodeMaintenance, Operation::kListNodeMaintenances, Operation::kCreateNodeMaintenance,
        Operation::kPatchNodeMaintenance, Operation::kDeleteNodeMaintenance}) {
    CHECK(world.cluster->Supports(operation));
  }
  world.transport->Answer(200, fixtures::kNodeMaintenance);
  CHECK(world.cluster->GetNodeMaintenance(world.context, {"default", "nvidia-operator-gpu-7"})->uid == "u-nm");
  const ListPage<NodeMaintenance> first{.items = {kRequest}, .continue_token = "t"};
  world.transport->Answer(200, FormatList(first));
  world.transport->Answer(200, FormatList(ListPage<NodeMaintenance>{.items = {kRequest}}));
  CHECK(world.cluster->ListNodeMaintenances(world.context, {.ns = "default"}).value() ==
        std::vector{kRequest, kRequest});
  world.transport->Answer(200, FormatList(ListPage<NodeMaintenance>{}));
  CHECK(world.cluster->ListNodeMaintenances(world.context, {})->empty());
  CHECK(world.transport->lines == Lines{"GET " + kCollection + "/nvidia-operator-gpu-7",
                                        "GET " + kCollection + "?limit=500",
                                        "GET " + kCollection + "?limit=500&continue=t",
                                        "GET /apis/maintenance.nvidia.com/v1alpha1/nodemaintenances?limit=500"});
}

TEST_CASE("if a cluster does not serve the kind, requests return NotFound") {
  World world;
  world.transport->Answer(404, "404 page not found\n");
  CHECK(Text(world.cluster->ListNodeMaintenances(world.context, {}).status()) ==
        "list node maintenances: 404 NotFound: 404 page not found\\x0a");
  world.transport->Answer(404, "404 page not found\n");
  const absl::Status created = world.cluster->CreateNodeMaintenance(world.context, {.object = kRequest}).status();
  CHECK(absl::IsNotFound(created));
  CHECK(WasNotApplied(created));
}

TEST_CASE("a request is posted to its namespace, and the response is the object") {
  World world;
  world.transport->Answer(201, fixtures::kNodeMaintenance);
  const auto created = world.cluster->CreateNodeMaintenance(world.context, {.object = kRequest});
  REQUIRE(created.ok());
  CHECK(created->resource_version == "812");
  CHECK(world.transport->lines == Lines{"POST " + kCollection + "?fieldManager=driverupgrade"});
  CHECK(world.transport->requests[0].content_type == "application/json");
  CHECK(world.transport->requests[0].body == FormatNodeMaintenance({.object = kRequest}));
}

TEST_CASE("creating a request with an existing name returns AlreadyExists") {
  World world;
  const std::string body = GENERATE(as<std::string>(), "", StatusBody(409, "AlreadyExists", "exists"));
  world.transport->Answer(409, body);
  const absl::Status status = world.cluster->CreateNodeMaintenance(world.context, {.object = kRequest}).status();
  CHECK(absl::IsAlreadyExists(status));
  CHECK(Text(status).starts_with("create node maintenance default/nvidia-operator-gpu-7: 409 "));
}

TEST_CASE("additional requestors are patched in the object, and conditions in its status") {
  World world;
  world.transport->Answer(200, fixtures::kNodeMaintenance);
  REQUIRE(world.cluster->PatchNodeMaintenance(world.context, kJoin).ok());
  PatchNodeMaintenanceParams fail = kJoin;
  fail.additional_requestors.reset();
  fail.conditions = {{.type = "RequestorFailed", .status = "True", .reason = "FailedMaintenance"}};
  world.transport->Answer(200, fixtures::kNodeMaintenance);
  const auto patched = world.cluster->PatchNodeMaintenance(world.context, fail);
  REQUIRE(patched.ok());
  CHECK(patched->resource_version == "812");
  const std::string path = kCollection + "/nvidia-operator-gpu-7";
  CHECK(world.transport->lines ==
        Lines{"PATCH " + path + "?fieldManager=driverupgrade", "PATCH " + path + "/status?fieldManager=driverupgrade"});
  for (const HttpRequest& request : world.transport->requests) {
    CHECK(request.content_type == "application/merge-patch+json");
  }
  CHECK(world.transport->requests[0].body == FormatNodeMaintenancePatch(kJoin));
  CHECK(world.transport->requests[1].body == FormatNodeMaintenancePatch(fail));
}

TEST_CASE("a patch of a NodeMaintenance that has changed or was replaced returns Aborted") {
  World world;
  const auto [code, body] = GENERATE(values<std::pair<int, std::string>>({
      {409, StatusBody(409, "Conflict", "the object has been modified")},
      {409, ""},
      {422, StatusBody(422, "Invalid", "field is immutable",
                       R"("causes":[{"reason":"FieldValueInvalid","field":"metadata.uid"}])")},
  }));
  world.transport->Answer(code, body);
  CHECK(absl::IsAborted(world.cluster->PatchNodeMaintenance(world.context, kJoin).status()));
}

TEST_CASE(
    "a patch that violates the schema returns InvalidArgument, and a patch of a missing object returns NotFound") {
  World world;
  world.transport->Answer(
      422, StatusBody(422, "Invalid", "duplicate", R"("causes":[{"field":"spec.additionalRequestors[1]"}])"));
  CHECK(absl::IsInvalidArgument(world.cluster->PatchNodeMaintenance(world.context, kJoin).status()));
  world.transport->Answer(404, StatusBody(404, "NotFound", "not found"));
  CHECK(absl::IsNotFound(world.cluster->PatchNodeMaintenance(world.context, kJoin).status()));
}

TEST_CASE("a NodeMaintenance is deleted by name and UID, and a missing NodeMaintenance counts as deleted") {
  World world;
  const auto [code, body] = GENERATE(values<std::pair<int, std::string>>({
      {200, fixtures::kNodeMaintenance},
      {202, ""},
      {404, StatusBody(404, "NotFound", "not found")},
      {409, StatusBody(409, "Conflict", "Precondition failed: UID in precondition: u-nm, UID in object meta: u-2")},
  }));
  world.transport->Answer(code, body);
  CHECK(world.cluster->DeleteNodeMaintenance(world.context, kDelete).ok());
  CHECK(world.transport->lines == Lines{"DELETE " + kCollection + "/nvidia-operator-gpu-7"});
  CHECK(world.transport->requests[0].body == FormatDeleteOptions(kDelete));
}

TEST_CASE("a failed deletion of a NodeMaintenance returns the reason") {
  World world;
  world.transport->Answer(409, StatusBody(409, "Conflict", "modified"));
  CHECK(absl::IsAborted(world.cluster->DeleteNodeMaintenance(world.context, kDelete)));
  world.transport->Answer(403, StatusBody(403, "Forbidden", "no"));
  CHECK(Text(world.cluster->DeleteNodeMaintenance(world.context, kDelete)) ==
        "delete node maintenance default/nvidia-operator-gpu-7: 403 Forbidden: no");
}

TEST_CASE("the response to a write of a NodeMaintenance must be a NodeMaintenance") {
  World world;
  const std::string body = GENERATE(as<std::string>(), "", R"({"kind":"Node"})");
  for (int i = 0; i < 2; ++i) world.transport->Answer(200, body);
  CHECK(absl::IsUnavailable(world.cluster->CreateNodeMaintenance(world.context, {.object = kRequest}).status()));
  CHECK(absl::IsUnavailable(world.cluster->PatchNodeMaintenance(world.context, kJoin).status()));
}

TEST_CASE("the required members of a NodeMaintenance are checked before a write is sent") {
  World world;
  PatchNodeMaintenanceParams both = kJoin, no_uid = kJoin, no_version = kJoin, bad_name = kJoin;
  both.conditions = std::vector<Condition>();
  no_uid.uid = "";
  no_version.resource_version = "";
  bad_name.name = "a/b";
  for (const absl::Status& status : {
           world.cluster->PatchNodeMaintenance(world.context, both).status(),
           world.cluster->PatchNodeMaintenance(world.context, no_uid).status(),
           world.cluster->PatchNodeMaintenance(world.context, no_version).status(),
           world.cluster->PatchNodeMaintenance(world.context, bad_name).status(),
           world.cluster->DeleteNodeMaintenance(world.context, {.ns = "default", .name = "n"}),
           world.cluster->DeleteNodeMaintenance(world.context, {.ns = "", .name = "n", .uid = "u"}),
           world.cluster->GetNodeMaintenance(world.context, {"default", ""}).status(),
           world.cluster->GetNodeMaintenance(world.context, {"", "n"}).status(),
           world.cluster->ListNodeMaintenances(world.context, {.ns = ".."}).status(),
           world.cluster->CreateNodeMaintenance(world.context, {.object = {.ns = "default"}}).status(),
           world.cluster->CreateNodeMaintenance(world.context, {.object = {.name = "n"}}).status(),
       }) {
    CHECK(absl::IsInvalidArgument(status));
    CHECK(RequestWasNotSent(status));
  }
  CHECK(world.transport->lines.empty());
}

}  // namespace
}  // namespace driverupgrade
