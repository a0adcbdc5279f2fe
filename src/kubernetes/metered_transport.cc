#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/observer.h"
#include "fmt/format.h"
#include "kubernetes/api_request.h"

namespace driverupgrade {
namespace {

using internal::ApiRequest;

// Status codes that the metrics show individually. Other codes are grouped, such as 4xx, because a server can return
// any number.
constexpr std::array kCodes = {200, 201, 202, 204, 400, 401, 403, 404, 405, 408, 409,
                               410, 413, 415, 422, 429, 500, 501, 502, 503, 504};
constexpr std::array<std::string_view, 14> kResources = {
    "configmaps",       "controllerrevisions",     "daemonsets", "devicetaintrules",     "events", "leases",
    "nodemaintenances", "nodemaintenances/status", "nodes",      "poddisruptionbudgets", "pods",   "pods/eviction",
    "resourceclaims",   "resourceslices"};

std::string CodeOf(const absl::StatusOr<HttpResponse>& answer) {
  if (!answer.ok()) return absl::StatusCodeToString(answer.status().code());
  if (std::find(kCodes.begin(), kCodes.end(), answer->status) != kCodes.end()) return fmt::format("{}", answer->status);
  if (answer->status >= 100 && answer->status < 600) return fmt::format("{}xx", answer->status / 100);
  return "invalid";
}

std::string ResourceOf(const ApiRequest& request) {
  const bool known = std::find(kResources.begin(), kResources.end(), request.resource) != kResources.end();
  return known ? request.resource : "other";
}

RequestKind KindOf(const ApiRequest& request, std::string code) {
  return {.verb = request.verb, .resource = ResourceOf(request), .code = std::move(code)};
}

// Counts a stream when it opens, not when it ends.
class CountOnOpen final : public LineSink {
 public:
  CountOnOpen(LineSink& next, RequestMeter& meter, const ApiRequest& request)
      : next_(next), meter_(meter), request_(request) {}
  void OnOpen(const HttpResponse& head) override {
    counted_ = true;
    meter_.Count(KindOf(request_, CodeOf(head)));
    next_.OnOpen(head);
  }
  bool OnLine(std::string_view line) override { return next_.OnLine(line); }
  bool counted() const { return counted_; }

 private:
  LineSink& next_;
  RequestMeter& meter_;
  const ApiRequest& request_;
  bool counted_ = false;
};

class MeteredTransport final : public HttpTransport {
 public:
  MeteredTransport(std::shared_ptr<HttpTransport> next, std::shared_ptr<RequestMeter> meter,
                   std::shared_ptr<Clock> clock)
      : next_(std::move(next)), meter_(std::move(meter)), clock_(clock ? std::move(clock) : SystemClock()) {}

  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override {
    const ApiRequest described = internal::ApiRequestOf(request);
    const absl::Time began = clock_->Now();
    absl::StatusOr<HttpResponse> answer = next_->Send(context, request);
    meter_->Time(described.verb, clock_->Now() - began);
    meter_->Count(KindOf(described, CodeOf(answer)));
    return answer;
  }

  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) override {
    const ApiRequest described = internal::ApiRequestOf(request);
    CountOnOpen counting(sink, *meter_, described);
    absl::StatusOr<HttpResponse> answer = next_->Stream(context, request, counting);
    if (!counting.counted()) meter_->Count(KindOf(described, CodeOf(answer)));
    return answer;
  }

 private:
  const std::shared_ptr<HttpTransport> next_;
  const std::shared_ptr<RequestMeter> meter_;
  const std::shared_ptr<Clock> clock_;
};

}  // namespace

std::shared_ptr<HttpTransport> MakeMeteredTransport(std::shared_ptr<HttpTransport> next,
                                                    std::shared_ptr<RequestMeter> meter, std::shared_ptr<Clock> clock) {
  return std::make_shared<MeteredTransport>(std::move(next), std::move(meter), std::move(clock));
}

}  // namespace driverupgrade
