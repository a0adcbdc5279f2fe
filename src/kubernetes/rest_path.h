// Builds and validates the paths and queries of objects in the REST API, and names objects in errors.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_REST_PATH_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_REST_PATH_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/label_selector.h"

namespace driverupgrade::internal {

using Query = std::vector<std::pair<std::string, std::string>>;

// A kind of object.
struct Resource {
  // For example "/apis/apps/v1".
  std::string_view group;
  // For example "daemonsets".
  std::string_view name;
  // For example "daemon set". Adding an s forms the plural.
  std::string_view in_words;
  bool namespaced = true;
};
inline constexpr Resource kNodes{"/api/v1", "nodes", "node", /*namespaced=*/false};
inline constexpr Resource kPods{"/api/v1", "pods", "pod"};
inline constexpr Resource kConfigMaps{"/api/v1", "configmaps", "config map"};
inline constexpr Resource kEvents{"/api/v1", "events", "event"};
inline constexpr Resource kDaemonSets{"/apis/apps/v1", "daemonsets", "daemon set"};
inline constexpr Resource kControllerRevisions{"/apis/apps/v1", "controllerrevisions", "controller revision"};
inline constexpr Resource kBudgets{"/apis/policy/v1", "poddisruptionbudgets", "pod disruption budget"};
inline constexpr Resource kLeases{"/apis/coordination.k8s.io/v1", "leases", "lease"};
inline constexpr Resource kMaintenances{"/apis/maintenance.nvidia.com/v1alpha1", "nodemaintenances",
                                        "node maintenance"};
inline constexpr Resource kDeviceTaintRules{"/apis/resource.k8s.io/v1", "devicetaintrules", "device taint rule",
                                            /*namespaced=*/false};
inline constexpr Resource kResourceClaims{"/apis/resource.k8s.io/v1", "resourceclaims", "resource claim"};
inline constexpr Resource kResourceSlices{"/apis/resource.k8s.io/v1", "resourceslices", "resource slice",
                                          /*namespaced=*/false};

// Identifies one object.
struct Place {
  const Resource& resource;
  // Ignored if the kind has no namespaces.
  std::string_view ns = {};
  std::string_view name = {};
};
inline Place PlaceOf(const PodRef& pod) { return {.resource = kPods, .ns = pod.ns, .name = pod.name}; }

// The objects that a list or a watch covers.
struct Selection {
  const Resource& resource;
  // Empty for all namespaces.
  std::string_view ns = {};
  LabelSelector labels = {};
  std::string_view node_name = {};
  // If true, an empty namespace is an error.
  bool in_one_namespace = false;
};

// Returns the text with a limited length and without control characters.
std::string Shown(std::string_view text);

// Describes an attempt, such as "get node gpu-7" or "evict pod shop/web-1".
std::string Attempt(std::string_view verb, const Place& place);
// Describes an attempt, such as "list pods in namespace shop with labels a=b on node gpu-7".
std::string Attempt(std::string_view verb, const Selection& selection);

// Returns InvalidArgument, marked as not sent.
absl::Status Refuse(std::string_view attempted, std::string_view why);

// Checks that the namespace and the name can be path segments (S11). Errors: same as Refuse.
absl::Status Check(std::string_view attempted, const Place& place);
// Checks that `ns` can be a path segment. Errors: same as Refuse.
absl::Status CheckNamespace(std::string_view attempted, std::string_view ns);

// Same as CheckNamespace, for any `value`. The error describes the value as `what`, such as "the namespace".
absl::Status CheckSegment(std::string_view attempted, std::string_view what, std::string_view value);

// Encodes all characters except the unreserved characters of RFC 3986. Kubernetes names contain only unreserved
// characters.
std::string EncodeSegment(std::string_view text);
// Returns a path such as "/api/v1/namespaces/shop/pods", or "/api/v1/pods" if `ns` is empty.
std::string CollectionPath(const Resource& resource, std::string_view ns);
std::string ObjectPath(const Place& place);
// Escapes the value of a field selector.
std::string EscapeFieldValue(std::string_view text);
// Returns the query parameters with the label and field selectors of the selection.
Query QueryOf(const Selection& selection);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_PATH_H_
