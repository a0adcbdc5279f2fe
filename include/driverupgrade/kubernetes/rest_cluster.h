/// A real cluster: implements ClusterFacade (cluster_facade.h) with the REST API of a Kubernetes API server.
///
/// Defines MakeRestCluster, RestClusterOptions and RetryAfter.
///
///     auto cluster = MakeRestCluster(transport, {.event_component = "gpu-operator"});
///     absl::StatusOr<std::vector<Node>> nodes = cluster->ListNodes(context, {});
///
/// Example: tests/unit/wire/rest_cluster_test.cc. See http_transport.h for the server, TLS and credentials.
#ifndef DRIVERUPGRADE_KUBERNETES_REST_CLUSTER_H_
#define DRIVERUPGRADE_KUBERNETES_REST_CLUSTER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade {

struct RestClusterOptions {
  /// Objects per page of a list; the default is the same as in client-go. 0: all objects in one page.
  int page_size = 500;
  /// Source of Events: `source.component` and `reportingComponent`.
  std::string event_component = "driverupgrade";
  /// Field manager of patches, as recorded in `managedFields`: at most 128 printable characters.
  std::string field_manager = "driverupgrade";
};

/// Returns a facade that supports every Operation. Each call is one request, a list is one request per page, and a
/// watch is a list followed by one request that stays open. There are no retries (see http_transport.h), no cache, and
/// no policy. `transport` must not be null. Thread-safe if `transport` is; shares ownership of `transport`.
///
/// Needs the API groups v1, apps/v1, policy/v1 and, for leases, coordination.k8s.io/v1 (Kubernetes 1.22 or newer). DRA
/// objects are read and written only as resource.k8s.io/v1, which includes claims and slices since Kubernetes 1.34, and
/// device taint rules since 1.37; an older cluster returns NotFound.
///
/// - An error message consists of the attempted operation, its object and the server's message, on one line of bounded
///   length without control characters: `patch node gpu-7: 409 Conflict: Operation cannot be fulfilled on ...`.
/// - Status codes follow the contract of ClusterFacade. 405, 415 and 501 are Unimplemented and 413 is InvalidArgument,
///   because such requests are not applied. A bare 409 in response to a create is AlreadyExists; other codes below 500
///   are Unknown. A response that cannot be parsed is Unavailable: a write may have been applied. A transport error
///   keeps its code and its mark (RequestWasNotSent).
/// - If a page of a list has expired (410), the list is restarted once. Any other 410 is Unavailable, except in a
///   watch.
/// - With the selector `LabelSelector::Nothing()`, a list returns no objects without sending a request. A watch returns
///   OK immediately; if it starts without a version, it first reports an empty list with an empty version. Do not
///   restart such a watch.
/// - Names are checked before anything is sent: a name that is empty, `.`, `..`, or contains `/`, `%`, a space or a
///   control character causes InvalidArgument. The same applies to a write without a UID, and to a patch or an update
///   without a resource version. An empty namespace means all namespaces only where ClusterFacade says so.
/// - Watch...: the objects are listed first, as by the List... operation of that kind, with all pages in memory. If
///   WatchParams::list is false, a single object is read instead, to learn the version. Bookmarks are requested. The
///   timeout is rounded up to whole seconds, and is at least one second. An event of an unknown type is skipped. A
///   malformed line ends the watch with Unavailable; a watch that is restarted at the same version ends in the same
///   way. A line longer than the transport's limit causes the transport to return OutOfRange. In both cases, start
///   again with a list. The transport must allow a stream to be silent for longer than the timeout. WatchParams::ns may
///   be empty for every kind.
/// - UpdateLease: one PUT of the fields of Lease. All other data in the object, such as labels and owners, is removed,
///   so update only your own objects. If the object was deleted, the result is Aborted, not NotFound.
/// - PatchConfigMap: one merge patch of the named keys; the rest of the object is left alone.
/// - PatchNode: the 422 that a changed UID can cause is also reported as Aborted.
/// - CreateDeviceTaintRule: InvalidArgument if the rule has no driver or no pool, because it would then also taint
///   other devices.
/// - EvictPod: a 403 caused by the state of a budget is also reported as kDisruptionBudget.
/// - RecordEvent: an Event that already exists was stored by an earlier attempt (see EventName), so the result is OK.
///   An Event of a series is patched; if the Event no longer exists, a second request creates it again.
std::shared_ptr<ClusterFacade> MakeRestCluster(std::shared_ptr<HttpTransport> transport,
                                               RestClusterOptions options = {});

/// Returns how long the server asked the client to wait before another attempt, according to an error of RestCluster.
/// This is the larger of the `Retry-After` header and the body's `retryAfterSeconds`, at most 300 s. Zero if the server
/// did not specify a time. Copies of the status keep the time; a new status created from its message does not.
absl::Duration RetryAfter(const absl::Status& status);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_REST_CLUSTER_H_
