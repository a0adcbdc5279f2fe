// Encodes ClusterFacade operations as HTTP requests. All functions are pure functions of their parameters.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_REST_REQUEST_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_REST_REQUEST_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "kubernetes/rest_path.h"

namespace driverupgrade::internal {

struct RestRequest {
  // Beginning of every error message, such as "patch node gpu-7".
  std::string attempted = {};
  HttpRequest http = {};
};

// Parameters of operations whose argument is an object, and of RecordEvent's two requests. The referenced objects must
// outlive the parameters.
struct CreateLeaseParams {
  const Lease& lease;
};
struct UpdateLeaseParams {
  const Lease& lease;
};
struct CreateConfigMapParams {
  const ConfigMap& config_map;
};
// The request that updates an existing Event of a series.
struct PatchEventParams {
  const RecordEventParams& event;
};
struct CreateEventParams {
  const RecordEventParams& event;
};

// These functions return the objects that a list or a watch covers. The result refers to `params`.
Selection SelectionOf(const ListNodesParams& params);
Selection SelectionOf(const ListPodsParams& params);
Selection SelectionOf(const ListDaemonSetsParams& params);
Selection SelectionOf(const ListControllerRevisionsParams& params);
Selection SelectionOf(const ListPodDisruptionBudgetsParams& params);
Selection SelectionOf(const ListNodeMaintenancesParams& params);
Selection SelectionOf(const ListDeviceTaintRulesParams& params);
Selection SelectionOf(const ListResourceClaimsParams& params);
Selection SelectionOf(const ListResourceSlicesParams& params);
Selection SelectionOf(const Resource& resource, const WatchParams& params);

// `verb` is "list" or "watch". Returns the request for the whole collection, without a limit and without the watch
// parameters. Errors of this function and of all functions below: InvalidArgument, marked as not sent.
absl::StatusOr<RestRequest> EncodeCollection(std::string_view verb, const Selection& selection);

// `field_manager` becomes the owner of written fields, and `event_component` the source of Events.
class RestEncoder {
 public:
  RestEncoder(std::string field_manager, std::string event_component)
      : field_manager_(std::move(field_manager)), event_component_(std::move(event_component)) {}

  absl::StatusOr<RestRequest> Encode(const GetNodeParams& params) const;
  absl::StatusOr<RestRequest> Encode(const GetPodParams& params) const;
  absl::StatusOr<RestRequest> Encode(const GetNodeMaintenanceParams& params) const;
  absl::StatusOr<RestRequest> Encode(const GetLeaseParams& params) const;
  absl::StatusOr<RestRequest> Encode(const GetConfigMapParams& params) const;

  absl::StatusOr<RestRequest> Encode(const PatchNodeParams& params) const;
  absl::StatusOr<RestRequest> Encode(const EvictPodParams& params) const;
  absl::StatusOr<RestRequest> Encode(const DeletePodParams& params) const;
  absl::StatusOr<RestRequest> Encode(const CreateNodeMaintenanceParams& params) const;
  absl::StatusOr<RestRequest> Encode(const PatchNodeMaintenanceParams& params) const;
  absl::StatusOr<RestRequest> Encode(const DeleteNodeMaintenanceParams& params) const;
  absl::StatusOr<RestRequest> Encode(const CreateDeviceTaintRuleParams& params) const;
  absl::StatusOr<RestRequest> Encode(const PatchDeviceTaintRuleParams& params) const;
  absl::StatusOr<RestRequest> Encode(const DeleteDeviceTaintRuleParams& params) const;
  absl::StatusOr<RestRequest> Encode(const CreateLeaseParams& params) const;
  absl::StatusOr<RestRequest> Encode(const UpdateLeaseParams& params) const;
  absl::StatusOr<RestRequest> Encode(const CreateConfigMapParams& params) const;
  absl::StatusOr<RestRequest> Encode(const PatchConfigMapParams& params) const;
  absl::StatusOr<RestRequest> Encode(const PatchEventParams& params) const;
  absl::StatusOr<RestRequest> Encode(const CreateEventParams& params) const;

 private:
  absl::StatusOr<RestRequest> Create(const Place& place, std::string body) const;
  // `subresource` is "/status" or empty.
  template <typename Params>
  absl::StatusOr<RestRequest> Patch(const Place& place, const Params& params, std::string_view subresource,
                                    std::string body) const;
  Query FieldManager() const { return {{"fieldManager", field_manager_}}; }

  std::string field_manager_;
  std::string event_component_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_REQUEST_H_
