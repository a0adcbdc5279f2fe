/// Reads and writes objects that ClusterFacade (cluster_facade.h) does not support: an operator's own custom resources,
/// other ConfigMaps, image streams, logs. Objects are passed as JSON text, so that an operator can use its own JSON
/// library.
///
/// Defines ObjectKind, ObjectName, ObjectClient, and AccessReview, which checks permissions.
///
///     const ObjectKind kPolicies{.group_version = "nvidia.com/v1", .resource = "clusterpolicies",
///                                .namespaced = false};
///     ObjectClient objects(transport);
///     absl::StatusOr<ApiObject> policy = objects.Get(context, kPolicies, {.name = "cluster-policy"});
///     absl::Status shown = objects.MergePatch(context, kPolicies, {.name = "cluster-policy"},
///                                             R"({"status":{"state":"ready"}})", "status").status();
///
/// Example: tests/unit/wire/object_client_test.cc. Error codes and messages match those of RestCluster
/// (rest_cluster.h): `get nvidia.com/v1 clusterpolicies cluster-policy: 404 Not Found: ...`. The error is also NotFound
/// if the server does not serve the kind.
#ifndef DRIVERUPGRADE_KUBERNETES_OBJECT_CLIENT_H_
#define DRIVERUPGRADE_KUBERNETES_OBJECT_CLIENT_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/wire/kubernetes_json.h"

namespace driverupgrade {

struct ObjectKind {
  /// Same as `apiVersion`: "nvidia.com/v1"; "v1" for the core group.
  std::string group_version = {};
  /// The plural, as in RBAC: "clusterpolicies".
  std::string resource = {};
  bool namespaced = true;
};

struct ObjectName {
  /// Must be set if the kind is namespaced, and must be empty otherwise.
  std::string ns = {};
  std::string name = {};
};

struct ListObjectsParams {
  /// Empty: all namespaces.
  std::string ns = {};
  LabelSelector label_selector = {};
};

/// Each call sends one request or, for a list, one request per page. Nothing is retried or cached. Thread-safe if the
/// transport is; shares ownership of the transport.
///
/// Names, namespaces, kinds and subresources are checked before anything is sent: a value that cannot be a path segment
/// causes InvalidArgument.
class ObjectClient {
 public:
  /// `transport` must not be null. `field_manager`: the name under which the server records the changes in
  /// `managedFields`.
  explicit ObjectClient(std::shared_ptr<HttpTransport> transport, std::string field_manager = "driverupgrade");

  [[nodiscard]] absl::StatusOr<ApiObject> Get(const CallContext& context, const ObjectKind& kind,
                                              const ObjectName& name) const;

  [[nodiscard]] absl::StatusOr<std::vector<ApiObject>> List(const CallContext& context, const ObjectKind& kind,
                                                            const ListObjectsParams& params = {}) const;

  /// Same as ClusterReader::WatchNodes: a list if `params` requests one, then changes until the server, the sink or the
  /// context ends the watch. OutOfRange: start again without a version.
  [[nodiscard]] absl::Status Watch(const CallContext& context, const ObjectKind& kind, const WatchParams& params,
                                   WatchSink<ApiObject>& sink) const;

  /// Same as Watch for one object: the list contains at most this object, and only its changes follow. The namespace
  /// comes from `name`; `params` must have no namespace and no labels.
  [[nodiscard]] absl::Status WatchOne(const CallContext& context, const ObjectKind& kind, const ObjectName& name,
                                      const WatchParams& params, WatchSink<ApiObject>& sink) const;

  /// Creates the object that `json` contains. Errors: AlreadyExists if an object with that name exists.
  [[nodiscard]] absl::StatusOr<ApiObject> Create(const CallContext& context, const ObjectKind& kind,
                                                 const ObjectName& name, std::string json) const;

  /// Applies a JSON merge patch (RFC 7386): objects are merged, and null removes a member. Put
  /// `metadata.resourceVersion` into `json` to detect concurrent writes by other clients: the result is then Aborted.
  /// `subresource`: "status", or empty.
  [[nodiscard]] absl::StatusOr<ApiObject> MergePatch(const CallContext& context, const ObjectKind& kind,
                                                     const ObjectName& name, std::string json,
                                                     std::string_view subresource = {}) const;

  /// `options_json`: DeleteOptions such as `{"propagationPolicy":"Orphan","preconditions":{"uid":"..."}}`, or empty.
  /// Returns OK once the server has accepted the deletion; NotFound if the object does not exist.
  [[nodiscard]] absl::Status Delete(const CallContext& context, const ObjectKind& kind, const ObjectName& name,
                                    std::string options_json = {}) const;

  /// Returns the response of a subresource unchanged, for example the text of `pods/log` with {{"container", "c"},
  /// {"tailLines", "100"}}.
  [[nodiscard]] absl::StatusOr<std::string> GetText(
      const CallContext& context, const ObjectKind& kind, const ObjectName& name, std::string_view subresource,
      const std::vector<std::pair<std::string, std::string>>& query = {}) const;

 private:
  const std::shared_ptr<HttpTransport> transport_;
  const std::string field_manager_;
};

/// Checks with the API server who owns a token, and whether the owner may read a path. A web server can use it to
/// restrict who reads its pages, as controller-runtime's metrics filter does.
///
///     AccessReview readers(transport, "/rollout");
///     absl::Status may_read = readers.Check({.deadline = absl::Now() + absl::Seconds(5)}, token);
///
/// Thread-safe if the transport and the clock are; shares ownership of both. Example:
/// tests/unit/wire/access_review_test.cc.
///
/// The transport's credentials need the permission `create` on `tokenreviews` (authentication.k8s.io) and on
/// `subjectaccessreviews` (authorization.k8s.io).
class AccessReview {
 public:
  /// Time for which the result for a token is remembered. During this time, revoked permissions and tokens still work.
  static constexpr absl::Duration kRemembered = absl::Minutes(1);
  /// Maximum number of tokens reviewed per second, not counting remembered results, so that a client with made-up
  /// tokens cannot exhaust the operator's API request quota.
  static constexpr int kReviewsPerSecond = 20;

  /// `path`: the non-resource URL, as in RBAC: `/rollout`. `transport` must not be null.
  AccessReview(std::shared_ptr<HttpTransport> transport, std::string path,
               std::shared_ptr<const Clock> clock = SystemClock());
  ~AccessReview();

  /// Returns OK if the owner of the token may `get` the path. Sends at most two requests, a TokenReview and a
  /// SubjectAccessReview, and none if a result is remembered. No error message contains the token. Errors:
  ///  - Unauthenticated: the token is not valid.
  ///  - PermissionDenied: the owner is not allowed to read the path.
  ///  - ResourceExhausted: too many tokens are being reviewed.
  ///  - Unavailable or another code: a request failed. Such a result is not remembered.
  [[nodiscard]] absl::Status Check(const CallContext& context, std::string_view token);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_OBJECT_CLIENT_H_
