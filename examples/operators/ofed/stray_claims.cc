#include "ofed/stray_claims.h"

#include <optional>
#include <utility>

#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/service/director.h"
#include "driverupgrade/state_machine.h"

namespace ofed_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ClusterFacade;
using driverupgrade::MaintenanceCall;
using driverupgrade::NodeMaintenance;
using driverupgrade::RequestorOptions;

constexpr char kOfPolicy[] = "-nnp-";

// Returns the id of the policy's requestor as the policy's engine computes it. The engine shortens an id that is too
// long.
std::string IdOf(const std::string& id, const std::string& policy) {
  driverupgrade::EngineOptions options;
  options.state_machine.requestor = RequestorOptions{.id = id};
  options = EngineOptionsOf(std::move(options), {.requestor_suffix = RequestorSuffix(policy)});
  return options.state_machine.requestor->id;
}

absl::Status Send(const CallContext& context, ClusterFacade& cluster, const MaintenanceCall& call) {
  const NodeMaintenance& object = call.object;
  if (call.kind == MaintenanceCall::Kind::kDelete) {
    return cluster.DeleteNodeMaintenance(context, {.ns = object.ns, .name = object.name, .uid = object.uid});
  }
  driverupgrade::PatchNodeMaintenanceParams patch{
      .ns = object.ns, .name = object.name, .uid = object.uid, .resource_version = object.resource_version};
  if (call.kind == MaintenanceCall::Kind::kLeave) {
    patch.additional_requestors = object.additional_requestors;
  } else {
    patch.conditions = object.conditions;
  }
  return cluster.PatchNodeMaintenance(context, patch).status();
}

}  // namespace

std::string RequestorSuffix(const std::string& policy) { return kOfPolicy + policy; }

std::set<std::string> StrayRequestors(const std::vector<NodeMaintenance>& objects, const std::string& id,
                                      const std::set<std::string>& policies) {
  std::set<std::string> stray;
  const auto note = [&, prefix = id + kOfPolicy](const std::string& requestor) {
    if (requestor.starts_with(prefix)) stray.insert(requestor);
  };
  for (const NodeMaintenance& object : objects) {
    note(object.requestor_id);
    for (const std::string& requestor : object.additional_requestors) note(requestor);
  }
  for (const std::string& policy : policies) stray.erase(IdOf(id, policy));
  return stray;
}

absl::Status GiveBackStrayClaims(const CallContext& context, ClusterFacade& cluster, const RequestorOptions& requestor,
                                 const std::set<std::string>& policies, absl::Time now,
                                 const driverupgrade::LogSink& log) {
  const auto objects = cluster.ListNodeMaintenances(context, {.ns = requestor.ns});
  if (absl::IsNotFound(objects.status())) return absl::OkStatus();
  if (!objects.ok()) return objects.status();
  for (const std::string& id : StrayRequestors(*objects, requestor.id, policies)) {
    const RequestorOptions stray{.id = id, .ns = requestor.ns};
    for (const NodeMaintenance& object : *objects) {
      const std::optional<MaintenanceCall> call = ReleaseClaim(object, stray, now);
      if (!call) continue;
      const absl::Status sent = Send(context, cluster, *call);
      if (!sent.ok() && !absl::IsNotFound(sent)) return sent;
      log({.message = "NodeMaintenance of a deleted policy released",
           .fields = {{"node", object.node_name}, {"object", object.ToString()}, {"requestor", id}}});
    }
  }
  return absl::OkStatus();
}

}  // namespace ofed_operator
