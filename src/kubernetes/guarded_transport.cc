#include "kubernetes/guarded_transport.h"

#include <chrono>
#include <exception>
#include <utility>

#include "fmt/format.h"
#include "kubernetes/token_source.h"

namespace driverupgrade {

using Steady = std::chrono::steady_clock;

GuardedTransport::GuardedTransport(TransportSetup setup)
    : setup_(std::move(setup)), errors_(setup_.url.ToString(), setup_.options) {}

absl::StatusOr<HttpResponse> GuardedTransport::Send(const CallContext& context, const HttpRequest& request) {
  return Guarded(context, request, [&](const Secret& token) { return SendOnce(context, request, token); });
}

absl::StatusOr<HttpResponse> GuardedTransport::Stream(const CallContext& context, const HttpRequest& request,
                                                      LineSink& sink) {
  RedactingSink clean(*setup_.redactor, sink);
  return Guarded(context, request, [&](const Secret& token) { return StreamOnce(context, request, token, clean); });
}

// Catches all exceptions that libraries throw, including bad_alloc, and removes secrets that the server has echoed.
absl::StatusOr<HttpResponse> GuardedTransport::Guarded(const CallContext& context, const HttpRequest& request,
                                                       const Attempt& attempt) {
  const Redactor& redactor = *setup_.redactor;
  try {
    absl::StatusOr<HttpResponse> response = WithToken(context, attempt);
    if (!response.ok()) return redactor.Strike(response.status());
    redactor.Strike(*response);
    return response;
  } catch (const std::exception& e) {
    return redactor.Strike(absl::InternalError(fmt::format("{}: {}", errors_.Subject(request), e.what())));
  } catch (...) {
    return absl::InternalError(fmt::format("{}: unknown exception", errors_.Subject(request)));
  }
}

absl::StatusOr<HttpResponse> GuardedTransport::WithToken(const CallContext& context, const Attempt& attempt) {
  TokenSource& tokens = *setup_.tokens;
  const absl::StatusOr<Secret> token = tokens.Get(Steady::now(), context.stop);
  if (!token.ok()) return token.status();
  absl::StatusOr<HttpResponse> response = Try(*token, attempt);
  if (!response.ok() || response->status != 401 || !tokens.Renew(*token, Steady::now(), context.stop)) {
    return response;
  }
  const absl::StatusOr<Secret> renewed = tokens.Get(Steady::now(), context.stop);
  return renewed.ok() ? Try(*renewed, attempt) : response;
}

absl::StatusOr<HttpResponse> GuardedTransport::Try(const Secret& token, const Attempt& attempt) {
  setup_.redactor->Remember(token);
  return attempt(token);
}

}  // namespace driverupgrade
