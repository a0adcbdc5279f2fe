/// Asks the API server who owns a token, and whether the owner may read a path. A page over the network checks its readers so, as the
/// metrics filter of controller-runtime does.
///
/// Defines AccessReview.
///
///     AccessReview readers(transport, "/rollout");
///     absl::Status may_read = readers.Check({.deadline = absl::Now() + absl::Seconds(5)}, token);
///
/// Example: tests/unit/wire/access_review_test.cc. Thread-safe if the transport and the clock are; holds a share of both.
#ifndef DRIVERUPGRADE_KUBERNETES_ACCESS_REVIEW_H_
#define DRIVERUPGRADE_KUBERNETES_ACCESS_REVIEW_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade {

/// The owner of the transport's credentials needs `create` on `tokenreviews` (authentication.k8s.io) and on
/// `subjectaccessreviews` (authorization.k8s.io).
class AccessReview {
 public:
  /// How long an answer about a token counts: rights that were withdrawn, and tokens that were revoked, work until then.
  static constexpr absl::Duration kRemembered = absl::Minutes(1);
  /// The most tokens without a remembered answer that are reviewed within a second, so that a client that invents tokens does not
  /// take the operator's requests.
  static constexpr int kReviewsPerSecond = 20;

  /// `path`: the non-resource URL, as in RBAC: `/rollout`. `transport` must not be null.
  AccessReview(std::shared_ptr<HttpTransport> transport, std::string path,
               std::shared_ptr<const Clock> clock = SystemClock());
  ~AccessReview();

  /// Returns OK if the owner of the token may `get` the path. Without a remembered answer, it sends at most two requests: a
  /// TokenReview, and a SubjectAccessReview. Errors, none of which has the token in its text:
  ///  - Unauthenticated: the token is not valid.
  ///  - PermissionDenied: the owner may not read the path.
  ///  - ResourceExhausted: too many tokens are reviewed now.
  ///  - Unavailable and others: a request failed. Such an answer is not remembered.
  [[nodiscard]] absl::Status Check(const CallContext& context, std::string_view token);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_ACCESS_REVIEW_H_
