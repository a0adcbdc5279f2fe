#include <algorithm>
#include <optional>
#include <utility>

#include "driverupgrade/kubernetes/http_transport.h"
#include "kubernetes/retry_after.h"

namespace driverupgrade {
namespace {

// Records whether the caller has received any part of a stream.
class WitnessSink : public LineSink {
 public:
  explicit WitnessSink(LineSink& sink) : sink_(sink) {}
  void OnOpen(const HttpResponse& head) override {
    touched_ = true;
    sink_.OnOpen(head);
  }
  bool OnLine(std::string_view line) override {
    touched_ = true;
    return sink_.OnLine(line);
  }
  bool touched() const { return touched_; }

 private:
  LineSink& sink_;
  bool touched_ = false;
};

// The remaining retries of one call.
class Retries {
 public:
  Retries(const RetryOptions& options, const HttpRequest& request)
      : options_(options),
        request_(request),
        refusals_left_(options.refusal_count_max),
        losses_left_(options.loss_count_max) {}

  // Returns the pause before the next attempt, or nullopt if this result is final. `seen` is true if a sink has
  // received a part of the result.
  std::optional<absl::Duration> PauseAfter(const absl::StatusOr<HttpResponse>& result, bool seen) {
    if (result.ok()) return PauseAfterAnswer(*result);
    const bool repeatable = RequestWasNotSent(result.status()) || (request_.verb == HttpVerb::kGet && !seen);
    if (!absl::IsUnavailable(result.status()) || !repeatable || losses_left_ == 0) return std::nullopt;
    --losses_left_;
    return options_.loss_pause;
  }

 private:
  std::optional<absl::Duration> PauseAfterAnswer(const HttpResponse& response) {
    const bool is_eviction = request_.verb == HttpVerb::kPost && request_.path.ends_with("/eviction");
    const bool refused = response.status == 429 && !is_eviction;
    const bool failed = response.status >= 500 && request_.verb == HttpVerb::kGet;
    const std::optional<int> seconds = ParseRetryAfter(response.Header("Retry-After").value_or(""));
    if (!(refused || failed) || !seconds.has_value() || refusals_left_ == 0) return std::nullopt;
    --refusals_left_;
    return std::min(absl::Seconds(*seconds), options_.retry_after_max);
  }

  const RetryOptions& options_;
  const HttpRequest& request_;
  int refusals_left_;
  int losses_left_;
};

class RetryingTransport : public HttpTransport {
 public:
  RetryingTransport(std::shared_ptr<HttpTransport> inner, RetryOptions options)
      : inner_(std::move(inner)), options_(std::move(options)) {}

  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override {
    Retries retries(options_, request);
    while (true) {
      absl::StatusOr<HttpResponse> result = inner_->Send(context, request);
      if (!MayRepeat(context, retries.PauseAfter(result, false))) return result;
    }
  }

  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) override {
    Retries retries(options_, request);
    while (true) {
      WitnessSink witness(sink);
      absl::StatusOr<HttpResponse> result = inner_->Stream(context, request, witness);
      if (!MayRepeat(context, retries.PauseAfter(result, witness.touched()))) return result;
    }
  }

 private:
  // Waits until the pause ends. Returns false if there is no pause, the deadline would pass, or a stop is requested.
  bool MayRepeat(const CallContext& context, const std::optional<absl::Duration>& pause) {
    if (!pause.has_value() || options_.clock->Now() + *pause >= context.deadline) return false;
    return options_.clock->SleepFor(*pause, context.stop) && !context.stop.stop_requested();
  }

  const std::shared_ptr<HttpTransport> inner_;
  const RetryOptions options_;
};

}  // namespace

std::shared_ptr<HttpTransport> MakeRetryingTransport(std::shared_ptr<HttpTransport> inner, RetryOptions options) {
  if (options.clock == nullptr) options.clock = SystemClock();
  return std::make_shared<RetryingTransport>(std::move(inner), std::move(options));
}

}  // namespace driverupgrade
