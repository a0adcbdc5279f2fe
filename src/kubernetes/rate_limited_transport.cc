#include <algorithm>
#include <mutex>
#include <utility>

#include "driverupgrade/kubernetes/http_transport.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

// Assigns slots in the order of the calls. Each call waits until its own time instead of competing for a slot.
// Thread-safe.
class TokenBucket {
 public:
  TokenBucket(const RateLimit& limit, absl::Time now)
      : per_second_(limit.requests_per_second), burst_(std::max(limit.burst, 1)), tokens_(burst_), filled_at_(now) {}

  // Takes a slot, and returns the time to wait until the slot can be used.
  absl::Duration Take(absl::Time now) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // If the clock is set back, adds no tokens and continues from the new time.
    const double passed = std::max(absl::ToDoubleSeconds(now - filled_at_), 0.0);
    filled_at_ = now;
    tokens_ = std::min(tokens_ + passed * per_second_, static_cast<double>(burst_)) - 1;
    return tokens_ >= 0 ? absl::ZeroDuration() : absl::Seconds(-tokens_ / per_second_);
  }

  // Returns an unused slot to the bucket.
  void GiveBack() {
    const std::lock_guard<std::mutex> lock(mutex_);
    tokens_ += 1;
  }

 private:
  const double per_second_;
  const int burst_;
  std::mutex mutex_;
  double tokens_;  // negative if slots are taken in advance
  absl::Time filled_at_;
};

class RateLimitedTransport : public HttpTransport {
 public:
  RateLimitedTransport(std::shared_ptr<HttpTransport> inner, const RateLimit& limit)
      : inner_(std::move(inner)), clock_(limit.clock), bucket_(limit, clock_->Now()) {}

  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override {
    const absl::Time now = clock_->Now();
    const absl::Duration wait = bucket_.Take(now);
    if (now + wait > context.deadline) {
      bucket_.GiveBack();
      return MarkRequestNotSent(absl::DeadlineExceededError(fmt::format(
          "{} {}: the rate limit would delay it beyond its deadline", ToString(request.verb), request.path)));
    }
    if (wait > absl::ZeroDuration() && !clock_->SleepFor(wait, context.stop)) {
      bucket_.GiveBack();
      return MarkRequestNotSent(absl::CancelledError(
          fmt::format("{} {}: stop requested while the rate limit held it", ToString(request.verb), request.path)));
    }
    return inner_->Send(context, request);
  }

  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) override {
    return inner_->Stream(context, request, sink);
  }

 private:
  const std::shared_ptr<HttpTransport> inner_;
  const std::shared_ptr<Clock> clock_;
  TokenBucket bucket_;
};

}  // namespace

std::shared_ptr<HttpTransport> MakeRateLimitedTransport(std::shared_ptr<HttpTransport> inner, RateLimit limit) {
  if (!(limit.requests_per_second > 0)) return inner;
  if (limit.clock == nullptr) limit.clock = SystemClock();
  return std::make_shared<RateLimitedTransport>(std::move(inner), limit);
}

}  // namespace driverupgrade
