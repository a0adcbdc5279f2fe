#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::testing::internal {
namespace {

// Creates a NodeMaintenance in a new namespace, for a new node.
absl::StatusOr<NodeMaintenance> MakeMaintenance(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.MakeNode({.name = world.prefix() + "a"}));
  NodeMaintenance object{.ns = ns,
                         .name = "request",
                         .requestor_id = "contract.requestor",
                         .additional_requestors = {"contract.b", "contract.a"},
                         .node_name = node.name,
                         .cordon = false};
  object.wait_for_pod_completion = MaintenanceWait{.pod_selector = "app=job"};
  object.drain = MaintenanceDrain{.delete_empty_dir = true,
                                  .pod_selector = "app=web",
                                  .timeout = absl::ZeroDuration(),
                                  .resource_name_filters = {"contract/.*", "x"}};
  return world.facade().CreateNodeMaintenance(world.context(), {.object = object});
}

absl::StatusOr<NodeMaintenance> ReadMaintenance(ContractWorld& world, const NodeMaintenance& object) {
  return world.facade().GetNodeMaintenance(world.context(), {object.ns, object.name});
}

// Patches the object at its current version. Retries a few times, because a maintenance operator may also write to the
// object.
absl::StatusOr<NodeMaintenance> PatchMaintenanceNow(ContractWorld& world, PatchNodeMaintenanceParams patch) {
  absl::StatusOr<NodeMaintenance> patched = absl::AbortedError("not tried");
  for (int i = 0; i < 5 && absl::IsAborted(patched.status()); ++i) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance object,
                                   world.facade().GetNodeMaintenance(world.context(), {patch.ns, patch.name}));
    patch.uid = object.uid;
    patch.resource_version = object.resource_version;
    patched = world.facade().PatchNodeMaintenance(world.context(), patch);
  }
  return patched;
}

absl::Status MaintenanceIsReadAsCreated(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance made, MakeMaintenance(world));
  EXPECT_THAT(!made.uid.empty() && !made.resource_version.empty(), "no UID or resource version");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance object, ReadMaintenance(world, made));
  EXPECT_THAT(object.uid == made.uid, object.uid);
  EXPECT_THAT(object.ns == made.ns && object.name == "request", object.ToString());
  EXPECT_THAT(object.requestor_id == "contract.requestor", object.requestor_id);
  EXPECT_THAT(object.additional_requestors == (std::vector<std::string>{"contract.b", "contract.a"}),
              Describe(object.additional_requestors));
  EXPECT_THAT(object.node_name == made.node_name, object.node_name);
  EXPECT_THAT(!object.cordon, Describe(object.cordon));
  EXPECT_THAT(object.wait_for_pod_completion == MaintenanceWait{.pod_selector = "app=job"}, "another wait");
  EXPECT_THAT(object.drain.has_value() && object.drain->timeout == absl::ZeroDuration(), "another drain timeout");
  EXPECT_THAT(!object.drain->force && object.drain->delete_empty_dir, "another drain");
  EXPECT_THAT(object.drain->pod_selector == "app=web", object.drain->pod_selector);
  EXPECT_THAT(object.drain->resource_name_filters == (std::vector<std::string>{"contract/.*", "x"}),
              Describe(object.drain->resource_name_filters));
  for (const std::string& ns : {made.ns, std::string()}) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<NodeMaintenance> list,
                                   world.facade().ListNodeMaintenances(world.context(), {.ns = ns}));
    const auto listed =
        std::count_if(list.begin(), list.end(), [&](const NodeMaintenance& one) { return one.uid == made.uid; });
    EXPECT_THAT(listed == 1, listed);
  }
  return absl::OkStatus();
}

absl::Status MaintenanceOfATakenNameExists(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(NodeMaintenance object, MakeMaintenance(world));
  const std::string uid = object.uid;
  object.requestor_id = "contract.other";
  const absl::Status status = world.facade().CreateNodeMaintenance(world.context(), {.object = object}).status();
  EXPECT_THAT(absl::IsAlreadyExists(status), Describe(status));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance after, ReadMaintenance(world, object));
  EXPECT_THAT(after.uid == uid && after.requestor_id == "contract.requestor", after.requestor_id);
  return absl::OkStatus();
}

absl::Status MissingMaintenanceIsNotFound(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  const absl::Status get = world.facade().GetNodeMaintenance(world.context(), {ns, "none"}).status();
  EXPECT_THAT(absl::IsNotFound(get), Describe(get));
  const PatchNodeMaintenanceParams requestors{.ns = ns,
                                              .name = "none",
                                              .uid = "u",
                                              .resource_version = "1",
                                              .additional_requestors = std::vector<std::string>()};
  const absl::Status patch = world.facade().PatchNodeMaintenance(world.context(), requestors).status();
  EXPECT_THAT(absl::IsNotFound(patch), Describe(patch));
  const PatchNodeMaintenanceParams conditions{
      .ns = ns, .name = "none", .uid = "u", .resource_version = "1", .conditions = std::vector<Condition>()};
  const absl::Status status = world.facade().PatchNodeMaintenance(world.context(), conditions).status();
  EXPECT_THAT(absl::IsNotFound(status), Describe(status));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeleteNodeMaintenance(world.context(), {ns, "none", "u"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<NodeMaintenance> list,
                                 world.facade().ListNodeMaintenances(world.context(), {.ns = ns}));
  EXPECT_THAT(list.empty(), list.size());
  return absl::OkStatus();
}

absl::Status MaintenancePatchReplacesItsList(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance made, MakeMaintenance(world));
  PatchNodeMaintenanceParams patch{.ns = made.ns, .name = made.name};
  patch.additional_requestors = {{"contract.c"}};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance joined, PatchMaintenanceNow(world, patch));
  EXPECT_THAT(joined.additional_requestors == *patch.additional_requestors, Describe(joined.additional_requestors));
  EXPECT_THAT(joined.resource_version != made.resource_version, joined.resource_version);
  EXPECT_THAT(joined.drain == made.drain && joined.requestor_id == made.requestor_id, "another spec");

  PatchNodeMaintenanceParams failed{.ns = made.ns, .name = made.name};
  failed.conditions = {{{.type = "Contract",
                         .status = "True",
                         .reason = "Checked",
                         .message = "ü \"\n",
                         .last_transition_time = absl::FromUnixSeconds(1767323045)}}};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance marked, PatchMaintenanceNow(world, failed));
  EXPECT_THAT(marked.conditions == *failed.conditions, marked.conditions.size());
  EXPECT_THAT(marked.additional_requestors == *patch.additional_requestors, Describe(marked.additional_requestors));

  patch.additional_requestors->clear();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance left, PatchMaintenanceNow(world, patch));
  EXPECT_THAT(left.additional_requestors.empty(), Describe(left.additional_requestors));
  return absl::OkStatus();
}

absl::Status MaintenancePatchOfAnotherVersionIsAborted(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance made, MakeMaintenance(world));
  PatchNodeMaintenanceParams touch{.ns = made.ns, .name = made.name};
  touch.additional_requestors = {{"contract.c"}};
  DRIVERUPGRADE_RETURN_IF_ERROR(PatchMaintenanceNow(world, touch).status());

  PatchNodeMaintenanceParams requestors{
      .ns = made.ns, .name = made.name, .uid = made.uid, .resource_version = made.resource_version};
  PatchNodeMaintenanceParams conditions = requestors;
  const PatchNodeMaintenanceParams neither = requestors;
  requestors.additional_requestors = {{"contract.stale"}};
  conditions.conditions = {{{.type = "Stale", .status = "True", .reason = "Stale"}}};
  for (const PatchNodeMaintenanceParams& stale : {requestors, conditions, neither}) {
    const absl::Status status = world.facade().PatchNodeMaintenance(world.context(), stale).status();
    EXPECT_THAT(absl::IsAborted(status), Describe(status));
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance object, ReadMaintenance(world, made));
  requestors.uid = kOtherUid;
  requestors.resource_version = object.resource_version;
  const absl::Status other = world.facade().PatchNodeMaintenance(world.context(), requestors).status();
  EXPECT_THAT(absl::IsAborted(other), Describe(other));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance after, ReadMaintenance(world, made));
  EXPECT_THAT(after.additional_requestors == *touch.additional_requestors, Describe(after.additional_requestors));
  return absl::OkStatus();
}

absl::Status MaintenancePatchIsOfOneListAtMost(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance made, MakeMaintenance(world));
  PatchNodeMaintenanceParams patch{
      .ns = made.ns, .name = made.name, .uid = made.uid, .resource_version = made.resource_version};
  patch.additional_requestors.emplace();
  patch.conditions.emplace();
  const absl::Status both = world.facade().PatchNodeMaintenance(world.context(), patch).status();
  EXPECT_THAT(absl::IsInvalidArgument(both), Describe(both));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance same, PatchMaintenanceNow(world, {.ns = made.ns, .name = made.name}));
  EXPECT_THAT(same.additional_requestors == made.additional_requestors, Describe(same.additional_requestors));
  return absl::OkStatus();
}

absl::Status MaintenanceDeletionIsOfThatObjectOnly(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance made, MakeMaintenance(world));
  DeleteNodeMaintenanceParams params{made.ns, made.name, kOtherUid};
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeleteNodeMaintenance(world.context(), params));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const NodeMaintenance left, ReadMaintenance(world, made));
  EXPECT_THAT(!left.deletion_timestamp.has_value(), "an object that is being deleted");
  params.uid = made.uid;
  for (int i = 0; i < 2; ++i) {
    DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeleteNodeMaintenance(world.context(), params));
  }
  const absl::StatusOr<NodeMaintenance> after = ReadMaintenance(world, made);
  if (absl::IsNotFound(after.status())) return absl::OkStatus();
  DRIVERUPGRADE_RETURN_IF_ERROR(after.status());
  EXPECT_THAT(after->deletion_timestamp.has_value(), "an object that is not being deleted");
  return absl::OkStatus();
}

}  // namespace

std::vector<NeededCase> MaintenanceCases() {
  using enum Operation;
  return {
      {"a node maintenance is read as it was created",
       {{kCreateNodeMaintenance}, {kGetNodeMaintenance}, {kListNodeMaintenances}},
       MaintenanceIsReadAsCreated},
      {"a second node maintenance with the same name is AlreadyExists",
       {{kCreateNodeMaintenance}, {kGetNodeMaintenance}},
       MaintenanceOfATakenNameExists},
      {"node maintenances that do not exist are NotFound",
       {{kGetNodeMaintenance}, {kListNodeMaintenances}, {kPatchNodeMaintenance}, {kDeleteNodeMaintenance}},
       MissingMaintenanceIsNotFound},
      {"a patch of a node maintenance replaces its list and nothing else",
       {{kCreateNodeMaintenance}, {kGetNodeMaintenance}, {kPatchNodeMaintenance}},
       MaintenancePatchReplacesItsList},
      {"a patch that names another version or UID of a node maintenance is Aborted",
       {{kCreateNodeMaintenance}, {kGetNodeMaintenance}, {kPatchNodeMaintenance}},
       MaintenancePatchOfAnotherVersionIsAborted},
      {"a patch of both lists of a node maintenance is InvalidArgument, and a patch of neither list changes nothing",
       {{kCreateNodeMaintenance}, {kGetNodeMaintenance}, {kPatchNodeMaintenance}},
       MaintenancePatchIsOfOneListAtMost},
      {"a deletion deletes only the node maintenance with the given UID",
       {{kCreateNodeMaintenance}, {kGetNodeMaintenance}, {kDeleteNodeMaintenance}},
       MaintenanceDeletionIsOfThatObjectOnly},
  };
}

}  // namespace driverupgrade::testing::internal
