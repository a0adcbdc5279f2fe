#include "driverupgrade/kubernetes/curl_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "kubernetes/curl_exchange.h"
#include "kubernetes/curl_status.h"
#include "kubernetes/guarded_transport.h"
#include "kubernetes/stream_receiver.h"
#include "kubernetes/transport_setup.h"

namespace driverupgrade {
namespace {

using Steady = std::chrono::steady_clock;
using End = CurlExchange::End;

// Unused handles, each with at most one connection. Thread-safe.
class CurlHandles {
 public:
  std::unique_ptr<CurlHandle> Take() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<CurlHandle> handle = std::move(idle_.back().handle);
        idle_.pop_back();
        return handle;
      }
    }
    return CurlHandle::Create();
  }

  void Return(std::unique_ptr<CurlHandle> handle) {
    std::vector<Idle> old;  // Destroyed after the lock is released, because closing a connection takes system calls.
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back({std::move(handle), Steady::now()});
    // Take returns the newest handle, so the oldest handles are at the front.
    const auto worn = [](const Idle& idle) { return Steady::now() - idle.since > kIdleMax; };
    auto keep = std::find_if_not(idle_.begin(), idle_.end(), worn);
    if (idle_.end() - keep > kIdleCountMax) keep = idle_.end() - kIdleCountMax;
    std::move(idle_.begin(), keep, std::back_inserter(old));
    idle_.erase(idle_.begin(), keep);
  }

 private:
  static constexpr std::ptrdiff_t kIdleCountMax = 32;
  static constexpr std::chrono::seconds kIdleMax{60};
  struct Idle {
    std::unique_ptr<CurlHandle> handle;
    Steady::time_point since;
  };

  std::mutex mutex_;
  std::vector<Idle> idle_;
};

// Takes a handle for one call, and returns the handle when the call ends.
class CurlLease {
 public:
  explicit CurlLease(CurlHandles& handles) : handles_(handles), handle_(handles.Take()) {}
  ~CurlLease() { handles_.Return(std::move(handle_)); }
  CurlLease(const CurlLease&) = delete;
  CurlLease& operator=(const CurlLease&) = delete;
  CurlHandle& handle() { return *handle_; }

 private:
  CurlHandles& handles_;
  std::unique_ptr<CurlHandle> handle_;
};

class BodyReceiver : public CurlReceiver {
 public:
  explicit BodyReceiver(std::size_t size_max) : size_max_(size_max) {}
  bool OnHead(const HttpResponse&) override { return true; }
  bool OnBytes(std::string_view bytes) override {
    if (bytes.size() > size_max_ - body.size()) return false;
    body.append(bytes);
    return true;
  }
  std::string body;

 private:
  const std::size_t size_max_;
};

class LineReceiver : public CurlReceiver {
 public:
  explicit LineReceiver(StreamReceiver& stream) : stream_(stream) {}
  bool OnHead(const HttpResponse& head) override { return stream_.OnHead(head); }
  bool OnBytes(std::string_view bytes) override { return stream_.OnBytes(bytes); }

 private:
  StreamReceiver& stream_;
};

class CurlTransport final : public GuardedTransport {
 public:
  explicit CurlTransport(TransportSetup setup) : GuardedTransport(std::move(setup)) {}

 private:
  absl::StatusOr<HttpResponse> SendOnce(const CallContext& context, const HttpRequest& request,
                                        const Secret& token) override;
  absl::StatusOr<HttpResponse> StreamOnce(const CallContext& context, const HttpRequest& request, const Secret& token,
                                          LineSink& sink) override;
  absl::StatusOr<HttpResponse> Finish(const HttpRequest& request, CurlExchange& exchange, End end);
  absl::Status Failure(const HttpRequest& request, const CurlExchange& exchange) const;

  CurlHandles handles_;
};

absl::Status CurlTransport::Failure(const HttpRequest& request, const CurlExchange& exchange) const {
  const CURLcode code = exchange.code();
  // The library reports CURLE_OUT_OF_MEMORY if a header exceeds the library's own limit. A real shortage is unlikely,
  // because the library allocates little memory.
  if (exchange.sent() && !exchange.has_head() && code == CURLE_OUT_OF_MEMORY) return errors().HeadersTooLong(request);
  return StatusOfCurlFailure(errors().Subject(request),
                             {.code = code,
                              .words = exchange.words(),
                              .system_error = exchange.system_error(),
                              .sent = exchange.sent(),
                              .has_head = exchange.has_head()},
                             setup().tls == nullptr ? std::string() : setup().tls->LastRefusal());
}

// Handles the end of an exchange, for both Send and Stream.
absl::StatusOr<HttpResponse> CurlTransport::Finish(const HttpRequest& request, CurlExchange& exchange, End end) {
  switch (end) {
    case End::kFailed: return Failure(request, exchange);
    case End::kHeadersTooLong: return errors().HeadersTooLong(request);
    case End::kException:
      return absl::InternalError(fmt::format("{}: no memory for the response", errors().Subject(request)));
    case End::kStopped: {
      absl::Status status = errors().Stopped(request);
      return exchange.sent() ? status : MarkRequestNotSent(std::move(status));
    }
    case End::kComplete:
    case End::kReceiver:
    case End::kTimedOut: break;
  }
  return std::move(exchange.head());
}

absl::StatusOr<HttpResponse> CurlTransport::SendOnce(const CallContext& context, const HttpRequest& request,
                                                     const Secret& token) {
  DRIVERUPGRADE_RETURN_IF_ERROR(errors().CheckWanted(context, request));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string target, EncodeRequestTarget(request));
  const absl::Duration left = std::min(context.deadline - absl::Now(), setup().options.request_timeout);
  CurlLease lease(handles_);
  BodyReceiver receiver(setup().options.body_size_max);
  CurlExchange exchange(lease.handle(), setup(), receiver);
  const End end = exchange.Run(request, target, token, {.deadline = After(left)}, context.stop);
  if (end == End::kReceiver) return errors().BodyTooLong(request);
  if (end == End::kTimedOut) {
    absl::Status status = errors().NoAnswer(request, left);
    return exchange.sent() ? status : MarkRequestNotSent(std::move(status));
  }
  absl::StatusOr<HttpResponse> response = Finish(request, exchange, end);
  if (response.ok()) response->body = std::move(receiver.body);
  return response;
}

absl::StatusOr<HttpResponse> CurlTransport::StreamOnce(const CallContext& context, const HttpRequest& request,
                                                       const Secret& token, LineSink& sink) {
  DRIVERUPGRADE_RETURN_IF_ERROR(errors().CheckWanted(context, request));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string target, EncodeRequestTarget(request));
  const CurlExchange::Times times{.deadline = After(context.deadline - absl::Now()),
                                  .until_head = setup().options.request_timeout,
                                  .between_bytes = setup().options.stream_idle_timeout};
  CurlLease lease(handles_);
  StreamReceiver stream(errors(), setup().options, request, sink, context.stop);
  LineReceiver receiver(stream);
  CurlExchange exchange(lease.handle(), setup(), receiver);
  const End end = exchange.Run(request, target, token, times, context.stop);
  if (end == End::kReceiver && !stream.status().ok()) return stream.status();
  if (end == End::kTimedOut) {
    absl::Status status = errors().StreamTimedOut(request, Steady::now() >= times.deadline, stream.accepted());
    return exchange.sent() ? status : MarkRequestNotSent(std::move(status));
  }
  absl::StatusOr<HttpResponse> response = Finish(request, exchange, end);
  if (response.ok()) response->body = std::move(stream.error_body());
  return response;
}

// Initializes the library, and checks its version and TLS library. The loaded library may be older than the headers
// that were used at build time.
absl::Status StartLibrary() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) return absl::InternalError("libcurl cannot start");
  const curl_version_info_data* const version = curl_version_info(CURLVERSION_NOW);
  constexpr unsigned kOldest = 0x075700;  // 7.87.0
  if (version->version_num < kOldest) {
    return absl::FailedPreconditionError(fmt::format("libcurl is {}, and must be 7.87 or newer", version->version));
  }
  const std::string_view tls = version->ssl_version == nullptr ? "" : version->ssl_version;
  if (tls.find("OpenSSL") == std::string_view::npos) {
    return absl::FailedPreconditionError("libcurl is not built with OpenSSL");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HttpTransport>> Make(const KubeConfig& config, const TransportOptions& options) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(TransportSetup setup, TransportSetup::Create(config, options));
  DRIVERUPGRADE_RETURN_IF_ERROR(StartLibrary());
  return std::make_shared<CurlTransport>(std::move(setup));
}

}  // namespace

absl::StatusOr<std::shared_ptr<HttpTransport>> MakeCurlTransport(const KubeConfig& config,
                                                                 const TransportOptions& options) {
  absl::StatusOr<std::shared_ptr<HttpTransport>> transport = Make(config, options);
  if (transport.ok()) return transport;
  return absl::Status(transport.status().code(),
                      fmt::format("make transport: {}", internal::Message(transport.status())));
}

}  // namespace driverupgrade
