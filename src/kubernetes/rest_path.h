// Where objects are in the REST API: paths and queries, what may be part of them, and how errors name them.
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

// A kind of objects.
struct Resource {
  // "/apis/apps/v1".
  std::string_view group;
  // "daemonsets".
  std::string_view name;
  // "daemon set". The plural has an s behind it.
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

// One object.
struct Place {
  const Resource& resource;
  // Of no meaning where the kind has no namespaces.
  std::string_view ns = {};
  std::string_view name = {};
};
inline Place PlaceOf(const PodRef& pod) { return {.resource = kPods, .ns = pod.ns, .name = pod.name}; }

// What a list or a watch is of.
struct Selection {
  const Resource& resource;
  // Empty: all of them.
  std::string_view ns = {};
  LabelSelector labels = {};
  std::string_view node_name = {};
  // An empty namespace is a mistake, and not all of them.
  bool in_one_namespace = false;
};

// Bounded, without control characters.
std::string Shown(std::string_view text);

// "get node gpu-7", "evict pod shop/web-1".
std::string Attempt(std::string_view verb, const Place& place);
// "list pods in namespace shop with labels a=b on node gpu-7".
std::string Attempt(std::string_view verb, const Selection& selection);

// InvalidArgument, marked as not sent.
absl::Status Refuse(std::string_view attempted, std::string_view why);

// Whether namespace and name may be segments of a path (S11). Errors: as Refuse.
absl::Status Check(std::string_view attempted, const Place& place);
// Whether `ns` may be one. Errors: as Refuse.
absl::Status CheckNamespace(std::string_view attempted, std::string_view ns);

// The same of `value`, which `what` ("the namespace") names in the error.
absl::Status CheckSegment(std::string_view attempted, std::string_view what, std::string_view value);

// All but the unreserved characters of RFC 3986, of which names of Kubernetes are made.
std::string EncodeSegment(std::string_view text);
// "/api/v1/namespaces/shop/pods", or "/api/v1/pods" if `ns` is empty.
std::string CollectionPath(const Resource& resource, std::string_view ns);
std::string ObjectPath(const Place& place);
// As the value of a field selector.
std::string EscapeFieldValue(std::string_view text);
// The selectors of it.
Query QueryOf(const Selection& selection);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REST_PATH_H_
