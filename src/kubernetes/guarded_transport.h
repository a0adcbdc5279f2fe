// Implements the common steps of all backends: adds the token, retries the request with a new token if the server
// refused the old token (api-A66), catches exceptions, and removes secrets from the response. Private to
// src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_GUARDED_TRANSPORT_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_GUARDED_TRANSPORT_H_

#include <functional>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "kubernetes/transport_errors.h"
#include "kubernetes/transport_setup.h"

namespace driverupgrade {

class GuardedTransport : public HttpTransport {
 public:
  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) final;
  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) final;

 protected:
  explicit GuardedTransport(TransportSetup setup);
  const TransportSetup& setup() const { return setup_; }
  const TransportErrors& errors() const { return errors_; }

 private:
  // These functions make one request with the token, and may throw. A 401 means that the request was not carried out,
  // and that the sink received nothing.
  virtual absl::StatusOr<HttpResponse> SendOnce(const CallContext& context, const HttpRequest& request,
                                                const Secret& token) = 0;
  virtual absl::StatusOr<HttpResponse> StreamOnce(const CallContext& context, const HttpRequest& request,
                                                  const Secret& token, LineSink& sink) = 0;

  using Attempt = std::function<absl::StatusOr<HttpResponse>(const Secret&)>;
  absl::StatusOr<HttpResponse> Guarded(const CallContext& context, const HttpRequest& request, const Attempt& attempt);
  absl::StatusOr<HttpResponse> WithToken(const CallContext& context, const Attempt& attempt);
  absl::StatusOr<HttpResponse> Try(const Secret& token, const Attempt& attempt);

  const TransportSetup setup_;
  const TransportErrors errors_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_GUARDED_TRANSPORT_H_
