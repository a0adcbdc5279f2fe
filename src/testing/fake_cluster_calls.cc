// The facade's operations. Each operation applies faults, calls the model, and writes the journal.

#include <fmt/format.h>

#include <utility>

#include "testing/fake_cluster_run.h"

namespace driverupgrade::testing {

using internal::Description;
using internal::Done;
using internal::Model;
using internal::SelectorText;

namespace {

std::string PatchText(const PatchNodeParams& params) {
  std::string text = fmt::format("resourceVersion={}", params.resource_version);
  auto append = [&](const char* prefix, const std::map<std::string, std::optional<std::string>>& patch) {
    for (const auto& [key, value] : patch) text += fmt::format(" {}:{}={}", prefix, key, value.value_or("null"));
  };
  append("label", params.labels);
  append("annotation", params.annotations);
  if (params.unschedulable.has_value()) text += fmt::format(" unschedulable={}", *params.unschedulable);
  if (params.taints.has_value()) {
    text += " taints=";
    for (const Taint& taint : *params.taints) text += fmt::format("[{}={}:{}]", taint.key, taint.value, taint.effect);
  }
  return text;
}

std::string PatchText(const PatchNodeMaintenanceParams& params) {
  std::string text = fmt::format("resourceVersion={}", params.resource_version);
  if (const auto& requestors = params.additional_requestors; requestors.has_value()) {
    text += fmt::format(" additionalRequestors={}", fmt::join(*requestors, ","));
  }
  if (params.conditions.has_value()) {
    for (const Condition& condition : *params.conditions) {
      text += fmt::format(" {}={} ({})", condition.type, condition.status, condition.reason);
    }
  }
  return text;
}

Description DescribeLease(const Lease& lease) {
  return {lease.ns + "/" + lease.name,
          fmt::format("resourceVersion={} holder={}", lease.resource_version, lease.holder)};
}

Description DescribeConfigMap(const ConfigMap& config_map) {
  std::string text = fmt::format("resourceVersion={}", config_map.resource_version);
  for (const auto& [key, value] : config_map.data) text += fmt::format(" {}={}", key, value);
  return {config_map.ns + "/" + config_map.name, std::move(text)};
}

Description DescribePatch(const PatchConfigMapParams& params) {
  std::string text = fmt::format("uid={} resourceVersion={}", params.uid, params.resource_version);
  for (const auto& [key, value] : params.data) text += value ? fmt::format(" {}={}", key, *value) : " -" + key;
  return {params.ns + "/" + params.name, std::move(text)};
}

std::string UidText(const std::string& uid) { return fmt::format("uid={}", uid); }

}  // namespace

FakeCluster::Impl::Hooks FakeCluster::Impl::CopyHooks() {
  std::lock_guard lock(mutex);
  return hooks;
}

absl::Status FakeCluster::Impl::Begin(const CallContext& context, Call& call) {
  Section section(*this);
  Settle();
  call.number = ++call_number;
  call.time = clock->Now();
  ++call_counts[call.operation];
  if (options.keep_journal) journal.push_back(call);
  if (context.stop.stop_requested()) return absl::CancelledError("the call was stopped");
  if (context.deadline <= call.time) return absl::DeadlineExceededError("the deadline of the call has passed");
  if (!faults.Supports(call.operation)) {
    return absl::UnimplementedError(fmt::format("{} is switched off", ToString(call.operation)));
  }
  return absl::OkStatus();
}

void FakeCluster::Impl::End(const Call& call) {
  if (!options.keep_journal) return;
  std::lock_guard lock(mutex);
  journal[static_cast<std::size_t>(call.number - 1)] = call;
}

absl::StatusOr<Node> FakeCluster::GetNode(const CallContext& context, const GetNodeParams& params) {
  return impl_->Run<Node>(
      context, Operation::kGetNode, [&] { return Description(params.name, ""); },
      [&](Model& model) -> absl::StatusOr<Node> {
        const Node* node = model.FindNode(params.name);
        if (node == nullptr) return absl::NotFoundError(fmt::format("nodes \"{}\" not found", params.name));
        return *node;
      });
}

absl::StatusOr<std::vector<Node>> FakeCluster::ListNodes(const CallContext& context, const ListNodesParams& params) {
  return impl_->Run<std::vector<Node>>(
      context, Operation::kListNodes, [&] { return Description("", SelectorText(params.label_selector)); },
      [&](Model& model) { return model.ListNodes(params.label_selector); });
}

absl::StatusOr<Pod> FakeCluster::GetPod(const CallContext& context, const GetPodParams& params) {
  return impl_->Run<Pod>(
      context, Operation::kGetPod, [&] { return Description(params.ns + "/" + params.name, ""); },
      [&](Model& model) -> absl::StatusOr<Pod> {
        const Pod* pod = model.FindPod({params.ns, params.name});
        if (pod == nullptr) return absl::NotFoundError(fmt::format("pods \"{}\" not found", params.name));
        return *pod;
      });
}

absl::StatusOr<std::vector<Pod>> FakeCluster::ListPods(const CallContext& context, const ListPodsParams& params) {
  return impl_->Run<std::vector<Pod>>(
      context, Operation::kListPods,
      [&] {
        std::string object = params.ns;
        if (!params.node_name.empty()) object += (object.empty() ? "" : " ") + params.node_name;
        return Description(object, SelectorText(params.label_selector));
      },
      [&](Model& model) { return model.ListPods(params); });
}

absl::StatusOr<std::vector<DaemonSet>> FakeCluster::ListDaemonSets(const CallContext& context,
                                                                   const ListDaemonSetsParams& params) {
  return impl_->Run<std::vector<DaemonSet>>(
      context, Operation::kListDaemonSets, [&] { return Description(params.ns, SelectorText(params.label_selector)); },
      [&](Model& model) { return model.ListDaemonSets(params.ns, params.label_selector); });
}

absl::StatusOr<std::vector<ControllerRevision>> FakeCluster::ListControllerRevisions(
    const CallContext& context, const ListControllerRevisionsParams& params) {
  return impl_->Run<std::vector<ControllerRevision>>(
      context, Operation::kListControllerRevisions,
      [&] { return Description(params.ns, SelectorText(params.label_selector)); },
      [&](Model& model) { return model.ListControllerRevisions(params.ns, params.label_selector); });
}

absl::StatusOr<std::vector<PodDisruptionBudget>> FakeCluster::ListPodDisruptionBudgets(
    const CallContext& context, const ListPodDisruptionBudgetsParams& params) {
  return impl_->Run<std::vector<PodDisruptionBudget>>(
      context, Operation::kListPodDisruptionBudgets, [&] { return Description(params.ns, ""); },
      [&](Model& model) { return model.ListDisruptionBudgets(params.ns); });
}

absl::StatusOr<Node> FakeCluster::PatchNode(const CallContext& context, const PatchNodeParams& params) {
  return impl_->Run<Node>(
      context, Operation::kPatchNode, [&] { return Description(params.name, PatchText(params)); },
      [&](Model& model) { return model.PatchNode(params); });
}

absl::StatusOr<EvictionAnswer> FakeCluster::EvictPod(const CallContext& context, const EvictPodParams& params) {
  return impl_->Run<EvictionAnswer>(
      context, Operation::kEvictPod, [&] { return Description(params.pod.ToString(), UidText(params.pod.uid)); },
      [&](Model& model) { return model.EvictPod(Actor::kClient, params.pod); });
}

absl::Status FakeCluster::DeletePod(const CallContext& context, const DeletePodParams& params) {
  return impl_
      ->Run<Done>(
          context, Operation::kDeletePod, [&] { return Description(params.pod.ToString(), UidText(params.pod.uid)); },
          [&](Model& model) -> absl::StatusOr<Done> {
            absl::Status status = model.DeletePod(params);
            if (!status.ok()) return status;
            return Done{};
          })
      .status();
}

absl::StatusOr<NodeMaintenance> FakeCluster::GetNodeMaintenance(const CallContext& context,
                                                                const GetNodeMaintenanceParams& params) {
  return impl_->Run<NodeMaintenance>(
      context, Operation::kGetNodeMaintenance, [&] { return Description(params.ns + "/" + params.name, ""); },
      [&](Model& model) -> absl::StatusOr<NodeMaintenance> {
        const NodeMaintenance* found = model.FindNodeMaintenance({params.ns, params.name});
        if (found != nullptr) return *found;
        return absl::NotFoundError(fmt::format("nodemaintenances \"{}\" not found", params.name));
      });
}

absl::StatusOr<std::vector<NodeMaintenance>> FakeCluster::ListNodeMaintenances(
    const CallContext& context, const ListNodeMaintenancesParams& params) {
  return impl_->Run<std::vector<NodeMaintenance>>(
      context, Operation::kListNodeMaintenances, [&] { return Description(params.ns, ""); },
      [&](Model& model) { return model.ListNodeMaintenances(params.ns); });
}

absl::StatusOr<NodeMaintenance> FakeCluster::CreateNodeMaintenance(const CallContext& context,
                                                                   const CreateNodeMaintenanceParams& params) {
  return impl_->Run<NodeMaintenance>(
      context, Operation::kCreateNodeMaintenance,
      [&] {
        return Description(params.object.ToString(),
                           fmt::format("node={} requestor={}", params.object.node_name, params.object.requestor_id));
      },
      [&](Model& model) { return model.CreateNodeMaintenance(params.object); });
}

absl::StatusOr<NodeMaintenance> FakeCluster::PatchNodeMaintenance(const CallContext& context,
                                                                  const PatchNodeMaintenanceParams& params) {
  return impl_->Run<NodeMaintenance>(
      context, Operation::kPatchNodeMaintenance,
      [&] { return Description(params.ns + "/" + params.name, PatchText(params)); },
      [&](Model& model) { return model.PatchNodeMaintenance(params); });
}

absl::Status FakeCluster::DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) {
  return impl_
      ->Run<Done>(
          context, Operation::kDeleteNodeMaintenance,
          [&] { return Description(params.ns + "/" + params.name, UidText(params.uid)); },
          [&](Model& model) -> absl::StatusOr<Done> {
            absl::Status status = model.DeleteNodeMaintenance(params);
            if (!status.ok()) return status;
            return Done{};
          })
      .status();
}

absl::StatusOr<Lease> FakeCluster::GetLease(const CallContext& context, const GetLeaseParams& params) {
  return impl_->Run<Lease>(
      context, Operation::kGetLease, [&] { return Description(params.ns + "/" + params.name, ""); },
      [&](Model& model) -> absl::StatusOr<Lease> {
        const Lease* found = model.FindLease({params.ns, params.name});
        if (found != nullptr) return *found;
        return absl::NotFoundError(fmt::format("leases.coordination.k8s.io \"{}\" not found", params.name));
      });
}

absl::StatusOr<ConfigMap> FakeCluster::GetConfigMap(const CallContext& context, const GetConfigMapParams& params) {
  return impl_->Run<ConfigMap>(
      context, Operation::kGetConfigMap, [&] { return Description(params.ns + "/" + params.name, ""); },
      [&](Model& model) -> absl::StatusOr<ConfigMap> {
        const ConfigMap* found = model.FindConfigMap({params.ns, params.name});
        if (found != nullptr) return *found;
        return absl::NotFoundError(fmt::format("configmaps \"{}\" not found", params.name));
      });
}

absl::StatusOr<Lease> FakeCluster::CreateLease(const CallContext& context, const Lease& lease) {
  return impl_->Run<Lease>(
      context, Operation::kCreateLease, [&] { return DescribeLease(lease); },
      [&](Model& model) { return model.CreateLease(lease); });
}

absl::StatusOr<Lease> FakeCluster::UpdateLease(const CallContext& context, const Lease& lease) {
  return impl_->Run<Lease>(
      context, Operation::kUpdateLease, [&] { return DescribeLease(lease); },
      [&](Model& model) { return model.UpdateLease(lease); });
}

absl::StatusOr<ConfigMap> FakeCluster::CreateConfigMap(const CallContext& context, const ConfigMap& config_map) {
  return impl_->Run<ConfigMap>(
      context, Operation::kCreateConfigMap, [&] { return DescribeConfigMap(config_map); },
      [&](Model& model) { return model.CreateConfigMap(config_map); });
}

absl::StatusOr<ConfigMap> FakeCluster::PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) {
  return impl_->Run<ConfigMap>(
      context, Operation::kPatchConfigMap, [&] { return DescribePatch(params); },
      [&](Model& model) { return model.PatchConfigMap(params); });
}

absl::Status FakeCluster::RecordEvent(const CallContext& context, const RecordEventParams& params) {
  return impl_
      ->Run<Done>(
          context, Operation::kRecordEvent,
          [&] {
            return Description(params.pod.has_value() ? params.pod->ToString() : params.node_name,
                               fmt::format("{}: {}", params.reason, params.message));
          },
          [&](Model& model) -> absl::StatusOr<Done> {
            if (params.pod.has_value() && model.IsTerminating(params.pod->ns)) {
              return absl::PermissionDeniedError(
                  fmt::format("events is forbidden: unable to create new content in namespace {} because it is "
                              "being terminated",
                              params.pod->ns));
            }
            impl_->events.push_back(params);
            return Done{};
          })
      .status();
}

}  // namespace driverupgrade::testing
