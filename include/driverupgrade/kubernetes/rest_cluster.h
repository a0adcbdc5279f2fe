/// A real cluster: the seam (cluster_facade.h) over the REST API of a Kubernetes API server.
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
  /// Objects per answer of a list, as client-go has it. 0 asks for all at once.
  int page_size = 500;
  /// Who the Events are from: `source.component` and `reportingComponent`.
  std::string event_component = "driverupgrade";
  /// Who owns the fields of a patch, in `managedFields`: at most 128 printable characters.
  std::string field_manager = "driverupgrade";
};

/// Supports every Operation, and adds nothing to the contract of the seam but requests: one for each call,
/// one for each page of a list, and for a watch those of its list and one that stays open. No retries
/// (http_transport.h has them), no cache, no policy. Thread-safe if `transport` is, which must not be null; holds a
/// share of it.
///
/// Needs the API groups v1, apps/v1, policy/v1 and, for leases, coordination.k8s.io/v1 (Kubernetes 1.22 or
/// newer). Objects of DRA are read and written in resource.k8s.io/v1 alone. Kubernetes serves claims and slices from 1.34
/// on, and device taint rules from 1.37 on; an older cluster answers NotFound.
///
/// - Error texts say what was attempted on what and what the server said, in one line of bounded length
///   without control characters: `patch node gpu-7: 409 Conflict: Operation cannot be fulfilled on ...`.
/// - Codes are those of the seam. 405, 415 and 501 are Unimplemented and 413 is InvalidArgument, for none of
///   them is applied; a bare 409 to a create is AlreadyExists; other codes below 500 are Unknown. An
///   answer that cannot be understood is Unavailable: after a write it may have been applied. An error of the
///   transport keeps its code and its mark (RequestWasNotSent).
/// - Where a page of a list has expired (410), the list begins anew, once. Any other 410 is Unavailable,
///   but for that of a watch.
/// - A selector of Nothing selects nothing: that list is empty without a request. A watch of it is OK at once:
///   it gives the empty list, at the empty version, unless it goes on after a version. Do not repeat it.
/// - Names are checked before anything is sent: one that is empty, `.`, `..`, or holds `/`, `%`, a space or a
///   control character is InvalidArgument. So is a write without a UID, or a patch or an update without
///   a resource version. An empty namespace means all of them only where the seam says so.
/// - Watch...: the list is read as the List... of that kind reads it, with every page in memory; with
///   `list = false`, one object is read for the version. Bookmarks are asked for. The timeout is rounded up to
///   whole seconds, at least one. An event of an unknown type is skipped. A line that is no event is
///   Unavailable, and will be again if the watch goes on at the same version. A line over the transport's limit
///   is its OutOfRange: to begin anew is right there, too. The transport must let a stream be silent for longer
///   than the timeout. WatchParams::ns may be empty for every kind.
/// - UpdateLease: one PUT of what Lease has. Whatever else the object had (labels, annotations, owners) is removed;
///   so write objects of your own only. One that is gone is Aborted, not NotFound: that is the server's doing.
/// - PatchConfigMap: one merge patch of the keys that are named; the rest of the object is left alone.
/// - PatchNode: also the 422 that a changed UID may cause is Aborted.
/// - CreateDeviceTaintRule: one without a driver or a pool is InvalidArgument, as it would taint the devices of others.
/// - EvictPod: a 403 in which a budget's own state is the reason is kDisruptionBudget, too.
/// - RecordEvent: an Event that already exists is this one, sent before (see EventName), and thus OK. That of a series
///   is patched; if it is gone, a second request writes it anew.
std::shared_ptr<ClusterFacade> MakeRestCluster(std::shared_ptr<HttpTransport> transport,
                                               RestClusterOptions options = {});

/// How long the server asked to wait before another attempt, in a failure that RestCluster returned: the
/// larger of the `Retry-After` header and the body's `retryAfterSeconds`, at most 300 s. Zero if it named no time.
/// Copies of the status keep it, a new status made of its text does not.
absl::Duration RetryAfter(const absl::Status& status);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_REST_CLUSTER_H_
