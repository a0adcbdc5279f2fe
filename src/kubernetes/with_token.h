// One attempt with the token, and one more where the server refused it and there is another by now (api-A66). Private
// to src/kubernetes; shared by the backends.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_WITH_TOKEN_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_WITH_TOKEN_H_

#include <chrono>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "kubernetes/token_source.h"

namespace driverupgrade::inline v1 {

// `attempt` takes the token. A request that was answered 401 was not carried out, nor was anything given to a sink.
template <typename F>
absl::StatusOr<HttpResponse> WithToken(TokenSource& tokens, const CallContext& context, F attempt) {
  using Steady = std::chrono::steady_clock;
  const absl::StatusOr<Secret> token = tokens.Get(Steady::now(), context.stop);
  if (!token.ok()) return token.status();
  absl::StatusOr<HttpResponse> response = attempt(*token);
  if (!response.ok() || response->status != 401 || !tokens.Renew(*token, Steady::now(), context.stop)) {
    return response;
  }
  const absl::StatusOr<Secret> renewed = tokens.Get(Steady::now(), context.stop);
  return renewed.ok() ? attempt(*renewed) : response;
}

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_WITH_TOKEN_H_
