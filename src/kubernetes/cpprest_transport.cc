#include "driverupgrade/kubernetes/cpprest_transport.h"

#include <cpprest/http_client.h>
#include <openssl/ssl.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "kubernetes/cpprest_call.h"
#include "kubernetes/cpprest_status.h"
#include "kubernetes/guarded_sink.h"
#include "kubernetes/line_splitter.h"
#include "kubernetes/server_url.h"
#include "kubernetes/tls_material.h"
#include "kubernetes/token_source.h"

namespace driverupgrade::inline v1 {
namespace {

using Steady = std::chrono::steady_clock;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// One pool per process is the library's design, so one flag per process is ours.
absl::Status StartPool(bool accept_foreign_pool) {
  static std::mutex mutex;
  static bool ours = false;
  const std::lock_guard<std::mutex> lock(mutex);
  // Before the pool: exit handlers run in reverse order, and the pool's threads must end before OpenSSL does.
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
      "cpprestsdk's thread pool was started by other code of this process; with more than one thread in it, "
      "cancelling "
      "a request crashes (start it with one thread and set accept_foreign_pool, or make a transport first)");
}

Steady::time_point After(absl::Duration duration) {
  // Far enough, and no overflow.
  if (duration > absl::Hours(24 * 365)) return Steady::time_point::max();
  return Steady::now() + absl::ToChronoNanoseconds(duration);
}

// Whatever happens to its owner, the pool is not left waiting for a lent piece.
class AbandonAtEnd {
 public:
  explicit AbandonAtEnd(CpprestCall& call) : call_(call) {}
  ~AbandonAtEnd() { call_.Abandon(); }
  AbandonAtEnd(const AbandonAtEnd&) = delete;
  AbandonAtEnd& operator=(const AbandonAtEnd&) = delete;

 private:
  CpprestCall& call_;
};

class CpprestTransport : public HttpTransport {
 public:
  CpprestTransport(ServerUrl url, web::http::client::http_client_config config, std::shared_ptr<TlsMaterial> tls,
                   std::unique_ptr<TokenSource> tokens, CpprestOptions options)
      : url_(std::move(url)),
        config_(std::move(config)),
        tls_(std::move(tls)),
        tokens_(std::move(tokens)),
        options_(std::move(options)),
        client_(url_.ToString(), config_) {}

  ~CpprestTransport() override { SettleCalls(lease_); }

  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override {
    return Guarded(request, [&] { return SendUnguarded(context, request); });
  }

  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) override {
    return Guarded(request, [&] { return StreamUnguarded(context, request, sink); });
  }

 private:
  // No exception of the library, nor bad_alloc, may leave.
  template <typename F>
  absl::StatusOr<HttpResponse> Guarded(const HttpRequest& request, F call) {
    try {
      return call();
    } catch (const std::exception& e) {
      return absl::InternalError(fmt::format("{}: {}", Subject(request), e.what()));
    } catch (...) {
      return absl::InternalError(fmt::format("{}: unknown exception", Subject(request)));
    }
  }

  std::string Subject(const HttpRequest& request) const {
    return fmt::format("{} {}{}", ToString(request.verb), url_.ToString(), request.path);
  }

  absl::Status CheckWanted(const CallContext& context, const HttpRequest& request) const;
  absl::StatusOr<web::http::http_request> Prepare(const HttpRequest& request);
  absl::StatusOr<HttpResponse> SendUnguarded(const CallContext& context, const HttpRequest& request);
  absl::StatusOr<HttpResponse> StreamUnguarded(const CallContext& context, const HttpRequest& request, LineSink& sink);
  absl::StatusOr<HttpResponse> Finish(const HttpRequest& request, CpprestCall& call) const;
  absl::StatusOr<HttpResponse> SinkEnded(const HttpRequest& request, GuardedSink::End end, CpprestCall& call) const;
  absl::Status TimedOut(const HttpRequest& request, bool deadline_over, bool accepted) const;
  absl::Status Overflow(const HttpRequest& request, std::string_view what, std::size_t bytes_max) const {
    return absl::OutOfRangeError(fmt::format("{}: {} longer than {} bytes", Subject(request), what, bytes_max));
  }
  absl::Status Stopped(const HttpRequest& request) const {
    return absl::CancelledError(fmt::format("{}: stop requested", Subject(request)));
  }

  const ServerUrl url_;
  const web::http::client::http_client_config config_;
  const std::shared_ptr<TlsMaterial> tls_;  // Null for http.
  const std::unique_ptr<TokenSource> tokens_;
  const CpprestOptions options_;
  const web::http::client::http_client client_;
  const std::shared_ptr<void> lease_ = std::make_shared<int>();
};

absl::Status CpprestTransport::CheckWanted(const CallContext& context, const HttpRequest& request) const {
  if (context.stop.stop_requested()) return MarkRequestNotSent(Stopped(request));
  if (context.deadline <= absl::Now()) {
    return MarkRequestNotSent(absl::DeadlineExceededError(
        fmt::format("{}: the deadline was over before the request was sent", Subject(request))));
  }
  return absl::OkStatus();
}

absl::StatusOr<web::http::http_request> CpprestTransport::Prepare(const HttpRequest& request) {
  absl::StatusOr<std::string> target = EncodeRequestTarget(request);
  if (!target.ok()) return target.status();
  web::http::http_request message{utility::string_t(ToString(request.verb))};
  try {
    message.set_request_uri(web::uri(*target));
  } catch (const web::uri_exception&) {
    return MarkRequestNotSent(absl::InvalidArgumentError(fmt::format("{}: not a URI", Subject(request))));
  }
  if (!request.body.empty()) message.set_body(request.body, request.content_type);
  web::http::http_headers& headers = message.headers();
  headers.add("Accept", "application/json");
  headers.add("User-Agent", options_.user_agent);
  // The library takes SNI and the name to verify from here. It must have no port then.
  if (tls_ != nullptr && tls_->peer_name() != url_.host) headers.add("Host", tls_->peer_name());
  const Secret token = tokens_->Get(Steady::now());
  if (!token.empty()) headers.add("Authorization", "Bearer " + token.Reveal());
  return message;
}

absl::StatusOr<HttpResponse> CpprestTransport::Finish(const HttpRequest& request, CpprestCall& call) const {
  if (call.overflowed()) return Overflow(request, "response body", options_.body_size_max);
  if (call.failed()) {
    return StatusOfCpprestFailure(Subject(request), call.failure().code, call.failure().text, call.sent(),
                                  tls_ == nullptr ? std::string() : tls_->LastRefusal());
  }
  if (call.head().status == 401) tokens_->OnUnauthorized();
  return std::move(call.head());
}

absl::StatusOr<HttpResponse> CpprestTransport::SendUnguarded(const CallContext& context, const HttpRequest& request) {
  absl::Status wanted = CheckWanted(context, request);
  if (!wanted.ok()) return wanted;
  const absl::Duration left = std::min(context.deadline - absl::Now(), options_.request_timeout);
  const Steady::time_point deadline = After(left);
  absl::StatusOr<web::http::http_request> message = Prepare(request);
  if (!message.ok()) return message.status();
  auto call = std::make_shared<CpprestCall>(CpprestCall::Mode::kCollect, options_.body_size_max, lease_);
  const std::stop_callback on_stop(context.stop, [call] { call->RequestStop(); });
  call->Start(client_, *std::move(message));
  CpprestCall::Event event = call->Next(deadline);
  if (event == CpprestCall::Event::kHead) event = call->Next(deadline);
  if (event != CpprestCall::Event::kDone) call->Abandon();
  // An answer that came at the last moment is better than none. What the library says of our own cancel is
  // not.
  if (event == CpprestCall::Event::kDone || (call->done() && !call->failed())) {
    absl::StatusOr<HttpResponse> response = Finish(request, *call);
    if (response.ok()) response->body = std::move(call->body());
    return response;
  }
  absl::Status status = Stopped(request);
  if (event != CpprestCall::Event::kStopped) {
    status = absl::DeadlineExceededError(
        fmt::format("{}: no complete answer within {}", Subject(request), absl::FormatDuration(left)));
  }
  return call->started() ? status : MarkRequestNotSent(std::move(status));
}

absl::StatusOr<HttpResponse> CpprestTransport::StreamUnguarded(const CallContext& context, const HttpRequest& request,
                                                               LineSink& caller_sink) {
  absl::Status wanted = CheckWanted(context, request);
  if (!wanted.ok()) return wanted;
  const Steady::time_point deadline = After(context.deadline - absl::Now());
  absl::StatusOr<web::http::http_request> message = Prepare(request);
  if (!message.ok()) return message.status();
  auto call = std::make_shared<CpprestCall>(CpprestCall::Mode::kLend, options_.body_size_max, lease_);
  const AbandonAtEnd guard(*call);
  const std::stop_callback on_stop(context.stop, [call] { call->RequestStop(); });
  // A connection of its own, which is not kept afterwards.
  call->Start(web::http::client::http_client(url_.ToString(), config_), *std::move(message));
  GuardedSink sink(caller_sink, context.stop);
  LineSplitter lines(options_.line_size_max);
  std::string error_body;
  bool accepted = false;
  absl::Duration patience = options_.request_timeout;  // For the head; then between two pieces.
  while (true) {
    const CpprestCall::Event event = call->Next(std::min(deadline, After(patience)));
    auto verdict = LineSplitter::Verdict::kMore;
    switch (event) {
      case CpprestCall::Event::kHead:
        patience = options_.stream_idle_timeout;
        accepted = call->head().status / 100 == 2;
        if (accepted) sink.OnOpen(call->head());
        if (sink.end() != GuardedSink::End::kNone) verdict = LineSplitter::Verdict::kSinkStopped;
        break;
      case CpprestCall::Event::kPiece:
        if (accepted) {
          verdict = lines.Feed(call->piece(), sink);
        } else if (call->piece().size() > options_.body_size_max - error_body.size()) {
          return Overflow(request, "response body", options_.body_size_max);
        } else {
          error_body.append(call->piece());
        }
        if (verdict == LineSplitter::Verdict::kMore) call->ReturnPiece();
        break;
      case CpprestCall::Event::kDone: {
        absl::StatusOr<HttpResponse> response = Finish(request, *call);
        if (response.ok()) response->body = std::move(error_body);
        return response;
      }
      case CpprestCall::Event::kStopped: return Stopped(request);
      case CpprestCall::Event::kTimedOut: return TimedOut(request, Steady::now() >= deadline, accepted);
    }
    if (verdict == LineSplitter::Verdict::kLineTooLong) return Overflow(request, "line", options_.line_size_max);
    if (verdict == LineSplitter::Verdict::kSinkStopped) return SinkEnded(request, sink.end(), *call);
  }
}

absl::Status CpprestTransport::TimedOut(const HttpRequest& request, bool deadline_over, bool accepted) const {
  if (deadline_over) {
    return absl::DeadlineExceededError(fmt::format("{}: the stream's deadline is over", Subject(request)));
  }
  if (accepted) {
    return absl::UnavailableError(
        fmt::format("{}: nothing came for {}", Subject(request), absl::FormatDuration(options_.stream_idle_timeout)));
  }
  return absl::DeadlineExceededError(
      fmt::format("{}: no answer within {}", Subject(request), absl::FormatDuration(options_.request_timeout)));
}

absl::StatusOr<HttpResponse> CpprestTransport::SinkEnded(const HttpRequest& request, GuardedSink::End end,
                                                         CpprestCall& call) const {
  switch (end) {
    case GuardedSink::End::kStopRequested: return Stopped(request);
    case GuardedSink::End::kException:
      return absl::InternalError(fmt::format("{}: the sink threw an exception", Subject(request)));
    case GuardedSink::End::kNone:
    case GuardedSink::End::kSink: break;
  }
  return std::move(call.head());
}

absl::Status CheckOptions(const CpprestOptions& options) {
  if (options.request_timeout <= absl::ZeroDuration() || options.stream_idle_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("request_timeout and stream_idle_timeout must be positive");
  }
  if (options.body_size_max == 0 || options.line_size_max == 0) {
    return absl::InvalidArgumentError("body_size_max and line_size_max must be positive");
  }
  const std::string& agent = options.user_agent;
  if (!std::all_of(agent.begin(), agent.end(), [](char c) { return c >= 0x20 && c < 0x7f; })) {
    return absl::InvalidArgumentError("user_agent must be visible ASCII");
  }
  return absl::OkStatus();
}

absl::Status CheckServer(const KubeConfig& config, const ServerUrl& url) {
  if (url.is_ipv6) {
    return absl::UnimplementedError("cpprestsdk cannot connect to an IPv6 literal; use a name");
  }
  const bool has_token = !config.token.empty() || !config.token_file.empty();
  if (has_token && !url.https && !url.IsLoopback()) {
    return absl::InvalidArgumentError("refusing to send a token over http://");
  }
  return absl::OkStatus();
}

// Sets what differs from the library's defaults. Errors: as MakeCpprestTransport for the proxy.
absl::Status Configure(const KubeConfig& config, const std::shared_ptr<TlsMaterial>& tls,
                       web::http::client::http_client_config& out) {
  out.set_max_redirects(0);  // It would send the token to any host.
  // It is a timer for silence only. All time limits are ours (CpprestCall::Next); this one must not come
  // first.
  out.set_timeout(std::chrono::hours(24 * 365));
  if (tls != nullptr) {
    out.set_validate_certificates(tls->verifies());
    out.set_tlsext_sni_enabled(!tls->peer_is_address());
    out.set_ssl_context_callback([tls](boost::asio::ssl::context& context) {
      if (!tls->Apply(context.native_handle())) throw std::runtime_error("OpenSSL refused the TLS settings");
    });
  }
  if (config.proxy_url.empty()) return absl::OkStatus();
  if (!config.proxy_url.starts_with("http://")) {
    return absl::UnimplementedError("proxy: cpprestsdk knows http:// proxies only");
  }
  if (config.proxy_url.find('@') != std::string::npos) {
    return absl::UnimplementedError("proxy: a user name or password is not supported");
  }
  absl::StatusOr<ServerUrl> proxy = ParseServerUrl(config.proxy_url);
  if (!proxy.ok()) return absl::InvalidArgumentError(fmt::format("proxy: {}", Text(proxy.status())));
  if (proxy->is_ipv6) return absl::UnimplementedError("proxy: cpprestsdk cannot connect to an IPv6 literal");
  out.set_proxy(web::web_proxy(proxy->ToString()));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HttpTransport>> Make(const KubeConfig& config, CpprestOptions options) {
  absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  if (options.user_agent.empty()) options.user_agent = "driverupgrade/" DRIVERUPGRADE_VERSION_STRING;
  absl::StatusOr<ServerUrl> url = ParseServerUrl(config.server);
  if (!url.ok()) return absl::InvalidArgumentError(fmt::format("server {}", Text(url.status())));
  status = CheckServer(config, *url);
  if (!status.ok()) return status;
  status = StartPool(options.accept_foreign_pool);
  if (!status.ok()) return status;
  std::shared_ptr<TlsMaterial> tls;
  if (url->https) {
    absl::StatusOr<std::shared_ptr<TlsMaterial>> material =
        TlsMaterial::Create(config, *url, options.trust_system_roots);
    if (!material.ok()) return material.status();
    tls = *std::move(material);
  }
  absl::StatusOr<std::unique_ptr<TokenSource>> tokens =
      TokenSource::Create(config, options.token_refresh, Steady::now());
  if (!tokens.ok()) return tokens.status();
  web::http::client::http_client_config client_config;
  status = Configure(config, tls, client_config);
  if (!status.ok()) return status;
  return std::shared_ptr<HttpTransport>(std::make_shared<CpprestTransport>(
      *std::move(url), std::move(client_config), std::move(tls), *std::move(tokens), std::move(options)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<HttpTransport>> MakeCpprestTransport(const KubeConfig& config,
                                                                    const CpprestOptions& options) {
  const auto prefixed = [](const absl::Status& status) {
    return absl::Status(status.code(), fmt::format("make transport: {}", Text(status)));
  };
  try {
    absl::StatusOr<std::shared_ptr<HttpTransport>> transport = Make(config, options);
    if (!transport.ok()) return prefixed(transport.status());
    return transport;
  } catch (const std::exception& e) {
    return prefixed(absl::InternalError(e.what()));
  }
}

}  // namespace driverupgrade::inline v1
