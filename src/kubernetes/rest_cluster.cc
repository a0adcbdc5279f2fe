#include "driverupgrade/kubernetes/rest_cluster.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "kubernetes/rest_answer.h"
#include "kubernetes/rest_caller.h"
#include "kubernetes/rest_request.h"

namespace driverupgrade {
namespace {

using internal::Resource;
using internal::RestRequest;
using internal::Selection;

// Implements each operation by encoding a request, sending it, and decoding the response.
class RestCluster final : public ClusterFacade {
 public:
  RestCluster(std::shared_ptr<HttpTransport> transport, RestClusterOptions options)
      : encoder_(std::move(options.field_manager), std::move(options.event_component)),
        caller_(std::move(transport), options.page_size) {}

  bool Supports(Operation) const override { return true; }

  absl::StatusOr<Node> GetNode(const CallContext& context, const GetNodeParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<Pod> GetPod(const CallContext& context, const GetPodParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<NodeMaintenance> GetNodeMaintenance(const CallContext& context,
                                                     const GetNodeMaintenanceParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<Lease> GetLease(const CallContext& context, const GetLeaseParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context, const GetConfigMapParams& params) override {
    return Call(context, params);
  }

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    return List<Node>(context, internal::SelectionOf(params), params.on_unreadable);
  }
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override {
    return List<Pod>(context, internal::SelectionOf(params), params.on_unreadable);
  }
  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override {
    return List<DaemonSet>(context, internal::SelectionOf(params), params.on_unreadable);
  }
  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override {
    return List<ControllerRevision>(context, internal::SelectionOf(params), params.on_unreadable);
  }
  absl::StatusOr<std::vector<PodDisruptionBudget>> ListPodDisruptionBudgets(
      const CallContext& context, const ListPodDisruptionBudgetsParams& params) override {
    return List<PodDisruptionBudget>(context, internal::SelectionOf(params), OnUnreadable::kFail);
  }
  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override {
    return List<NodeMaintenance>(context, internal::SelectionOf(params), params.on_unreadable);
  }
  absl::StatusOr<std::vector<DeviceTaintRule>> ListDeviceTaintRules(const CallContext& context,
                                                                    const ListDeviceTaintRulesParams& params) override {
    return List<DeviceTaintRule>(context, internal::SelectionOf(params), params.on_unreadable);
  }
  absl::StatusOr<std::vector<ResourceClaim>> ListResourceClaims(const CallContext& context,
                                                                const ListResourceClaimsParams& params) override {
    return List<ResourceClaim>(context, internal::SelectionOf(params), params.on_unreadable);
  }
  absl::StatusOr<std::vector<ResourceSlice>> ListResourceSlices(const CallContext& context,
                                                                const ListResourceSlicesParams& params) override {
    return List<ResourceSlice>(context, internal::SelectionOf(params), params.on_unreadable);
  }

  absl::Status WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) override {
    return Watch(context, internal::kNodes, params, sink);
  }
  absl::Status WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) override {
    return Watch(context, internal::kPods, params, sink);
  }
  absl::Status WatchDaemonSets(const CallContext& context, const WatchParams& params,
                               WatchSink<DaemonSet>& sink) override {
    return Watch(context, internal::kDaemonSets, params, sink);
  }
  absl::Status WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                        WatchSink<ControllerRevision>& sink) override {
    return Watch(context, internal::kControllerRevisions, params, sink);
  }
  absl::Status WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                     WatchSink<NodeMaintenance>& sink) override {
    return Watch(context, internal::kMaintenances, params, sink);
  }
  absl::Status WatchDeviceTaintRules(const CallContext& context, const WatchParams& params,
                                     WatchSink<DeviceTaintRule>& sink) override {
    return Watch(context, internal::kDeviceTaintRules, params, sink);
  }
  absl::Status WatchResourceClaims(const CallContext& context, const WatchParams& params,
                                   WatchSink<ResourceClaim>& sink) override {
    return Watch(context, internal::kResourceClaims, params, sink);
  }
  absl::Status WatchResourceSlices(const CallContext& context, const WatchParams& params,
                                   WatchSink<ResourceSlice>& sink) override {
    return Watch(context, internal::kResourceSlices, params, sink);
  }

  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(const CallContext& context,
                                                        const CreateNodeMaintenanceParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                       const PatchNodeMaintenanceParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override {
    return Call(context, params);
  }
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override {
    return Call(context, params);
  }
  absl::Status DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<DeviceTaintRule> CreateDeviceTaintRule(const CallContext& context,
                                                        const CreateDeviceTaintRuleParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<DeviceTaintRule> PatchDeviceTaintRule(const CallContext& context,
                                                       const PatchDeviceTaintRuleParams& params) override {
    return Call(context, params);
  }
  absl::Status DeleteDeviceTaintRule(const CallContext& context, const DeleteDeviceTaintRuleParams& params) override {
    return Call(context, params);
  }
  absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& lease) override {
    return Call(context, internal::CreateLeaseParams{lease});
  }
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease) override {
    return Call(context, internal::UpdateLeaseParams{lease});
  }
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& config_map) override {
    return Call(context, internal::CreateConfigMapParams{config_map});
  }
  absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params) override {
    if (params.series) {
      absl::Status patched = Call(context, internal::PatchEventParams{params});
      // The Event may be missing, because servers keep Events for about an hour and the first write of the series may
      // have failed.
      if (!absl::IsNotFound(patched)) return patched;
    }
    return Call(context, internal::CreateEventParams{params});
  }

 private:
  // Runs the operation that the type of `params` selects, and returns the decoded response.
  template <typename Params>
  auto Call(const CallContext& context, const Params& params) const
      -> decltype(internal::Decode(params, RestRequest(), HttpResponse())) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const RestRequest request, encoder_.Encode(params));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, caller_.Send(context, request));
    return internal::Decode(params, request, response);
  }

  template <typename T>
  absl::StatusOr<std::vector<T>> List(const CallContext& context, const Selection& selection,
                                      OnUnreadable on_unreadable) const {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(RestRequest request, internal::EncodeCollection("list", selection));
    if (selection.labels == LabelSelector::Nothing()) return std::vector<T>();
    DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<T> all, caller_.List<T>(context, std::move(request), on_unreadable));
    return std::move(all.items);
  }

  template <typename T>
  absl::Status Watch(const CallContext& context, const Resource& resource, const WatchParams& params,
                     WatchSink<T>& sink) const {
    const Selection selection = internal::SelectionOf(resource, params);
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const RestRequest request, internal::EncodeCollection("watch", selection));
    if (selection.labels == LabelSelector::Nothing()) {
      // The result of OnList does not matter, because the watch ends here either way.
      if (params.resource_version.empty()) (void)sink.OnList({}, "");
      return absl::OkStatus();
    }
    return caller_.Watch(context, request, params, sink);
  }

  const internal::RestEncoder encoder_;
  const internal::RestCaller caller_;
};

}  // namespace

std::shared_ptr<ClusterFacade> MakeRestCluster(std::shared_ptr<HttpTransport> transport, RestClusterOptions options) {
  return std::make_shared<RestCluster>(std::move(transport), std::move(options));
}

absl::Duration RetryAfter(const absl::Status& status) { return internal::RetryAfterOf(status); }

}  // namespace driverupgrade
