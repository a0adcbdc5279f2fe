// Converts API server responses to ClusterFacade results. All functions are pure functions of the status, the headers
// and the body.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_REST_ANSWER_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_REST_ANSWER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "kubernetes/rest_cluster_status.h"
#include "kubernetes/rest_request.h"

namespace driverupgrade::internal {

// Returns the failure of a request that received an error response.
inline absl::Status FailureOf(const RestRequest& request, const HttpResponse& response) {
  return FailureOf(request.attempted, request.http.verb, response);
}

template <typename T>
absl::StatusOr<T> DecodeObject(const RestRequest& request, const HttpResponse& response) {
  if (!IsSuccess(response)) return FailureOf(request, response);
  absl::StatusOr<T> object = ParseObject<T>(response.body);
  if (!object.ok()) return NotUnderstood(request.attempted, object.status());
  return object;
}

// Same as DecodeObject, for a request that changes an object with a specific UID and version.
template <typename T>
absl::StatusOr<T> DecodeChange(const RestRequest& request, const HttpResponse& response) {
  absl::StatusOr<T> object = DecodeObject<T>(request, response);
  if (!object.ok() && SaysOtherUid(response)) return absl::AbortedError(object.status().message());
  return object;
}

template <typename T>
absl::StatusOr<ListPage<T>> DecodePage(const RestRequest& request, const HttpResponse& response,
                                       OnUnreadable on_unreadable) {
  if (!IsSuccess(response)) return FailureOf(request, response);
  absl::StatusOr<ListPage<T>> page = ParseList<T>(response.body, on_unreadable);
  if (!page.ok()) return NotUnderstood(request.attempted, page.status());
  return page;
}

// Also returns OK if the object no longer exists.
absl::Status DecodeDelete(const RestRequest& request, const HttpResponse& response);

// Each operation has its own overload, which the type of the first argument selects. The value of that argument is
// ignored.
inline absl::StatusOr<Node> Decode(const GetNodeParams&, const RestRequest& request, const HttpResponse& response) {
  return DecodeObject<Node>(request, response);
}
inline absl::StatusOr<Pod> Decode(const GetPodParams&, const RestRequest& request, const HttpResponse& response) {
  return DecodeObject<Pod>(request, response);
}
inline absl::StatusOr<NodeMaintenance> Decode(const GetNodeMaintenanceParams&, const RestRequest& request,
                                              const HttpResponse& response) {
  return DecodeObject<NodeMaintenance>(request, response);
}
inline absl::StatusOr<Lease> Decode(const GetLeaseParams&, const RestRequest& request, const HttpResponse& response) {
  return DecodeObject<Lease>(request, response);
}
inline absl::StatusOr<ConfigMap> Decode(const GetConfigMapParams&, const RestRequest& request,
                                        const HttpResponse& response) {
  return DecodeObject<ConfigMap>(request, response);
}
inline absl::StatusOr<Node> Decode(const PatchNodeParams&, const RestRequest& request, const HttpResponse& response) {
  return DecodeChange<Node>(request, response);
}
inline absl::StatusOr<EvictionAnswer> Decode(const EvictPodParams&, const RestRequest& request,
                                             const HttpResponse& response) {
  return EvictionAnswerOf(request.attempted, response);
}
inline absl::Status Decode(const DeletePodParams&, const RestRequest& request, const HttpResponse& response) {
  return DecodeDelete(request, response);
}
inline absl::StatusOr<NodeMaintenance> Decode(const CreateNodeMaintenanceParams&, const RestRequest& request,
                                              const HttpResponse& response) {
  return DecodeObject<NodeMaintenance>(request, response);
}
inline absl::StatusOr<NodeMaintenance> Decode(const PatchNodeMaintenanceParams&, const RestRequest& request,
                                              const HttpResponse& response) {
  return DecodeChange<NodeMaintenance>(request, response);
}
inline absl::Status Decode(const DeleteNodeMaintenanceParams&, const RestRequest& request,
                           const HttpResponse& response) {
  return DecodeDelete(request, response);
}
inline absl::StatusOr<DeviceTaintRule> Decode(const CreateDeviceTaintRuleParams&, const RestRequest& request,
                                              const HttpResponse& response) {
  return DecodeObject<DeviceTaintRule>(request, response);
}
inline absl::StatusOr<DeviceTaintRule> Decode(const PatchDeviceTaintRuleParams&, const RestRequest& request,
                                              const HttpResponse& response) {
  return DecodeChange<DeviceTaintRule>(request, response);
}
inline absl::Status Decode(const DeleteDeviceTaintRuleParams&, const RestRequest& request,
                           const HttpResponse& response) {
  return DecodeDelete(request, response);
}
inline absl::StatusOr<Lease> Decode(const CreateLeaseParams&, const RestRequest& request,
                                    const HttpResponse& response) {
  return DecodeObject<Lease>(request, response);
}
inline absl::StatusOr<Lease> Decode(const UpdateLeaseParams&, const RestRequest& request,
                                    const HttpResponse& response) {
  return DecodeChange<Lease>(request, response);
}
inline absl::StatusOr<ConfigMap> Decode(const CreateConfigMapParams&, const RestRequest& request,
                                        const HttpResponse& response) {
  return DecodeObject<ConfigMap>(request, response);
}
inline absl::StatusOr<ConfigMap> Decode(const PatchConfigMapParams&, const RestRequest& request,
                                        const HttpResponse& response) {
  return DecodeChange<ConfigMap>(request, response);
}
// Returns NotFound if the Event no longer exists.
absl::Status Decode(const PatchEventParams&, const RestRequest& request, const HttpResponse& response);
// Also returns OK if the Event already exists.
absl::Status Decode(const CreateEventParams&, const RestRequest& request, const HttpResponse& response);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_ANSWER_H_
