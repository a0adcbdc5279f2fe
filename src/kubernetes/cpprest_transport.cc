#include "driverupgrade/kubernetes/cpprest_transport.h"

#include <cpprest/http_client.h>
#include <openssl/ssl.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "kubernetes/cpprest_call.h"
#include "kubernetes/cpprest_status.h"
#include "kubernetes/guarded_transport.h"
#include "kubernetes/stream_receiver.h"
#include "kubernetes/transport_setup.h"

namespace driverupgrade {
namespace {

using Steady = std::chrono::steady_clock;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// The library has one pool per process, so one flag per process is enough.
absl::Status StartPool(bool accept_foreign_pool) {
  static std::mutex mutex;
  static bool ours = false;
  const std::lock_guard<std::mutex> lock(mutex);
  // OpenSSL must start before the pool: exit handlers run in reverse order, and the pool's threads must end before
  // OpenSSL cleans up.
  OPENSSL_init_ssl(0, nullptr);
  if (ours) return absl::OkStatus();
  try {
    crossplat::threadpool::initialize_with_threads(1);
    ours = true;
    return absl::OkStatus();
  } catch (const std::exception&) {
    if (accept_foreign_pool) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "cpprestsdk's thread pool was started by other code of this process; with more than one thread in it, cancelling "
      "a request crashes (start it with one thread and set CpprestPool::kForeign, or create a transport first)");
}

// Abandons the call at the end of the scope, so that the pool does not keep waiting for a lent piece to be returned.
class AbandonAtEnd {
 public:
  explicit AbandonAtEnd(CpprestCall& call) : call_(call) {}
  ~AbandonAtEnd() { call_.Abandon(); }
  AbandonAtEnd(const AbandonAtEnd&) = delete;
  AbandonAtEnd& operator=(const AbandonAtEnd&) = delete;

 private:
  CpprestCall& call_;
};

class CpprestTransport final : public GuardedTransport {
 public:
  CpprestTransport(TransportSetup setup, web::http::client::http_client_config config)
      : GuardedTransport(std::move(setup)),
        config_(std::move(config)),
        client_(this->setup().url.ToString(), config_) {}

  ~CpprestTransport() override { SettleCalls(lease_); }

 private:
  absl::StatusOr<web::http::http_request> Prepare(const HttpRequest& request, const Secret& token);
  absl::StatusOr<HttpResponse> SendOnce(const CallContext& context, const HttpRequest& request,
                                        const Secret& token) override;
  absl::StatusOr<HttpResponse> StreamOnce(const CallContext& context, const HttpRequest& request, const Secret& token,
                                          LineSink& sink) override;
  absl::StatusOr<HttpResponse> Finish(const HttpRequest& request, CpprestCall& call);

  // Returns the client whose connections are kept for later requests.
  web::http::client::http_client Client() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return client_;
  }
  void DropConnections() {
    const std::lock_guard<std::mutex> lock(mutex_);
    client_ = web::http::client::http_client(setup().url.ToString(), config_);
  }

  const web::http::client::http_client_config config_;
  std::mutex mutex_;
  web::http::client::http_client client_;
  const std::shared_ptr<void> lease_ = std::make_shared<int>();
};

absl::StatusOr<web::http::http_request> CpprestTransport::Prepare(const HttpRequest& request, const Secret& token) {
  absl::StatusOr<std::string> target = EncodeRequestTarget(request);
  if (!target.ok()) return target.status();
  web::http::http_request message{utility::string_t(ToString(request.verb))};
  try {
    message.set_request_uri(web::uri(*target));
  } catch (const web::uri_exception&) {
    return MarkRequestNotSent(absl::InvalidArgumentError(fmt::format("{}: not a URI", errors().Subject(request))));
  }
  if (!request.body.empty()) message.set_body(request.body, request.content_type);
  web::http::http_headers& headers = message.headers();
  for (const auto& [name, value] : request.headers) headers.add(name, value);
  headers.add("Accept", "application/json");
  headers.add("User-Agent", setup().options.user_agent);
  // The library takes SNI and the name to verify from this header, so the header must not contain a port.
  if (setup().tls != nullptr && setup().tls->peer_name() != setup().url.host)
    headers.add("Host", setup().tls->peer_name());
  if (!token.empty()) headers.add("Authorization", "Bearer " + token.Reveal());
  return message;
}

absl::StatusOr<HttpResponse> CpprestTransport::Finish(const HttpRequest& request, CpprestCall& call) {
  if (call.overflowed()) return errors().BodyTooLong(request);
  if (call.failed()) {
    return StatusOfCpprestFailure(errors().Subject(request), call.failure().code, call.failure().text, call.sent(),
                                  setup().tls == nullptr ? std::string() : setup().tls->LastRefusal());
  }
  if (HeaderSize(call.head()) > setup().options.header_size_max) return errors().HeadersTooLong(request);
  // The library treats an interim response as the final response, and would pass the real response to the next request
  // on the connection.
  if (call.head().status < 200) {
    DropConnections();
    return absl::UnavailableError(
        fmt::format("{}: unexpected interim response {}", errors().Subject(request), call.head().status));
  }
  return std::move(call.head());
}

absl::StatusOr<HttpResponse> CpprestTransport::SendOnce(const CallContext& context, const HttpRequest& request,
                                                        const Secret& token) {
  absl::Status wanted = errors().CheckWanted(context, request);
  if (!wanted.ok()) return wanted;
  const absl::Duration left = std::min(context.deadline - absl::Now(), setup().options.request_timeout);
  const Steady::time_point deadline = After(left);
  absl::StatusOr<web::http::http_request> message = Prepare(request, token);
  if (!message.ok()) return message.status();
  auto call = std::make_shared<CpprestCall>(CpprestCall::Mode::kCollect, setup().options.body_size_max, lease_);
  const std::stop_callback on_stop(context.stop, [call] { call->RequestStop(); });
  call->Start(Client(), *std::move(message));
  CpprestCall::Event event = call->Next(deadline);
  if (event == CpprestCall::Event::kHead) event = call->Next(deadline);
  if (event != CpprestCall::Event::kDone) call->Abandon();
  // Uses a response that arrived at the last moment, but ignores an error that the library reports because of the
  // cancellation.
  if (event == CpprestCall::Event::kDone || (call->done() && !call->failed())) {
    absl::StatusOr<HttpResponse> response = Finish(request, *call);
    if (response.ok()) response->body = std::move(call->body());
    return response;
  }
  const bool stopped = event == CpprestCall::Event::kStopped;
  absl::Status status = stopped ? errors().Stopped(request) : errors().NoAnswer(request, left);
  return call->started() ? status : MarkRequestNotSent(std::move(status));
}

absl::StatusOr<HttpResponse> CpprestTransport::StreamOnce(const CallContext& context, const HttpRequest& request,
                                                          const Secret& token, LineSink& sink) {
  absl::Status wanted = errors().CheckWanted(context, request);
  if (!wanted.ok()) return wanted;
  const Steady::time_point deadline = After(context.deadline - absl::Now());
  absl::StatusOr<web::http::http_request> message = Prepare(request, token);
  if (!message.ok()) return message.status();
  auto call = std::make_shared<CpprestCall>(CpprestCall::Mode::kLend, setup().options.body_size_max, lease_);
  const AbandonAtEnd guard(*call);
  const std::stop_callback on_stop(context.stop, [call] { call->RequestStop(); });
  // Uses a separate connection, which is not kept afterwards.
  call->Start(web::http::client::http_client(setup().url.ToString(), config_), *std::move(message));
  StreamReceiver receiver(errors(), setup().options, request, sink, context.stop);
  // Limits the wait for the head, and then the silence between two pieces.
  absl::Duration patience = setup().options.request_timeout;
  while (!receiver.ended()) {
    const CpprestCall::Event event = call->Next(std::min(deadline, After(patience)));
    switch (event) {
      case CpprestCall::Event::kHead:
        patience = setup().options.stream_idle_timeout;
        receiver.OnHead(call->head());
        break;
      case CpprestCall::Event::kPiece:
        if (receiver.OnBytes(call->piece())) call->ReturnPiece();
        break;
      case CpprestCall::Event::kDone: {
        absl::StatusOr<HttpResponse> response = Finish(request, *call);
        if (response.ok()) response->body = std::move(receiver.error_body());
        return response;
      }
      case CpprestCall::Event::kStopped: return errors().Stopped(request);
      case CpprestCall::Event::kTimedOut:
        return errors().StreamTimedOut(request, Steady::now() >= deadline, receiver.accepted());
    }
  }
  if (!receiver.status().ok()) return receiver.status();
  return std::move(call->head());
}

// Returns the settings that differ from the library's defaults.
web::http::client::http_client_config Configure(const TransportSetup& setup) {
  web::http::client::http_client_config config;
  config.set_max_redirects(0);  // A redirect would send the token to any host.
  // CpprestCall::Next enforces all time limits. The library's own timeout limits only silence, and must never expire
  // first.
  config.set_timeout(std::chrono::hours(24 * 365));
  if (setup.tls != nullptr) {
    const std::shared_ptr<TlsMaterial> tls = setup.tls;
    config.set_validate_certificates(tls->verifies());
    config.set_tlsext_sni_enabled(!tls->peer_is_address());
    // The library creates a context with the system's certificate authorities for each connection; the callback
    // replaces that context with the shared one.
    config.set_ssl_context_callback(
        [tls](boost::asio::ssl::context& context) { context = boost::asio::ssl::context(tls->ShareContext()); });
  }
  if (setup.proxy.has_value()) config.set_proxy(web::web_proxy(setup.proxy->ToString()));
  return config;
}

absl::StatusOr<std::shared_ptr<HttpTransport>> Make(const KubeConfig& config, const TransportOptions& options,
                                                    CpprestPool pool) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(TransportSetup setup, TransportSetup::Create(config, options));
  if (setup.url.is_ipv6 || (setup.proxy.has_value() && setup.proxy->is_ipv6)) {
    return absl::UnimplementedError("cpprestsdk cannot connect to an IPv6 literal; use a name");
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(StartPool(pool == CpprestPool::kForeign));
  web::http::client::http_client_config client_config = Configure(setup);
  return std::make_shared<CpprestTransport>(std::move(setup), std::move(client_config));
}

}  // namespace

absl::StatusOr<std::shared_ptr<HttpTransport>> MakeCpprestTransport(const KubeConfig& config,
                                                                    const TransportOptions& options, CpprestPool pool) {
  const auto prefixed = [](const absl::Status& status) {
    return absl::Status(status.code(), fmt::format("make transport: {}", Text(status)));
  };
  try {
    absl::StatusOr<std::shared_ptr<HttpTransport>> transport = Make(config, options, pool);
    if (!transport.ok()) return prefixed(transport.status());
    return transport;
  } catch (const std::exception& e) {
    return prefixed(absl::InternalError(e.what()));
  }
}

}  // namespace driverupgrade
