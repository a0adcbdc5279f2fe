// A request as the API server parses it: resource, object, parameters, and the content of the body.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_REQUEST_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_REQUEST_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade::tests {

struct ApiRequest {
  HttpVerb verb = HttpVerb::kGet;
  // Example: "/apis/apps/v1".
  std::string group = {};
  // Example: "daemonsets".
  std::string resource = {};
  std::string ns = {};
  // Empty for a collection.
  std::string name = {};
  // Examples: "eviction", "status".
  std::string subresource = {};
  std::map<std::string, std::string> query = {};
  std::string content_type = {};
  std::string body = {};

  std::string Query(const std::string& name) const;
};

// Parses the request target as sent over the wire. Errors: NotFound for an unknown path.
absl::StatusOr<ApiRequest> ParseRequest(HttpVerb verb, std::string_view target);

// These functions parse the content of a request. Errors: InvalidArgument for a body that a server would refuse.
absl::StatusOr<WatchParams> SelectionOf(const ApiRequest& request);
absl::StatusOr<std::string> NodeNameOf(const ApiRequest& request);
absl::StatusOr<PatchNodeParams> NodePatchOf(const ApiRequest& request);
absl::StatusOr<PatchConfigMapParams> ConfigMapPatchOf(const ApiRequest& request);
absl::StatusOr<PatchNodeMaintenanceParams> MaintenancePatchOf(const ApiRequest& request);
absl::StatusOr<PatchDeviceTaintRuleParams> DeviceTaintRulePatchOf(const ApiRequest& request);
// Returns the UID that the body of an eviction or deletion contains as a precondition, or an empty string.
absl::StatusOr<std::string> PreconditionOf(const ApiRequest& request);
// Returns whether a deletion has a grace period of zero.
bool IsForced(const ApiRequest& request);
absl::StatusOr<RecordEventParams> EventOf(const ApiRequest& request);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_REQUEST_H_
