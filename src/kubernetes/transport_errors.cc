#include "kubernetes/transport_errors.h"

#include "absl/time/clock.h"
#include "fmt/format.h"

namespace driverupgrade {

std::chrono::steady_clock::time_point After(absl::Duration duration) {
  using Steady = std::chrono::steady_clock;
  // Avoids an overflow; a year is practically unlimited.
  if (duration > absl::Hours(24 * 365)) return Steady::time_point::max();
  return Steady::now() + absl::ToChronoNanoseconds(duration);
}

std::size_t HeaderSize(const HttpResponse& head) {
  std::size_t size = 0;
  for (const auto& [name, value] : head.headers) size += name.size() + value.size();
  return size;
}

std::string TransportErrors::Subject(const HttpRequest& request) const {
  return fmt::format("{} {}{}", ToString(request.verb), server_, request.path);
}

absl::Status TransportErrors::CheckWanted(const CallContext& context, const HttpRequest& request) const {
  if (context.stop.stop_requested()) return MarkRequestNotSent(Stopped(request));
  if (context.deadline <= absl::Now()) {
    return MarkRequestNotSent(absl::DeadlineExceededError(
        fmt::format("{}: the deadline passed before the request was sent", Subject(request))));
  }
  return absl::OkStatus();
}

absl::Status TransportErrors::Stopped(const HttpRequest& request) const {
  return absl::CancelledError(fmt::format("{}: stop requested", Subject(request)));
}

absl::Status TransportErrors::NoAnswer(const HttpRequest& request, absl::Duration within) const {
  return absl::DeadlineExceededError(
      fmt::format("{}: no complete response within {}", Subject(request), absl::FormatDuration(within)));
}

absl::Status TransportErrors::StreamTimedOut(const HttpRequest& request, bool deadline_over, bool accepted) const {
  if (deadline_over) {
    return absl::DeadlineExceededError(fmt::format("{}: the stream's deadline has passed", Subject(request)));
  }
  if (accepted) {
    return absl::UnavailableError(fmt::format("{}: no data received for {}", Subject(request),
                                              absl::FormatDuration(options_.stream_idle_timeout)));
  }
  return absl::DeadlineExceededError(
      fmt::format("{}: no response within {}", Subject(request), absl::FormatDuration(options_.request_timeout)));
}

absl::Status TransportErrors::Overflow(const HttpRequest& request, std::string_view what, std::size_t bytes_max) const {
  return absl::OutOfRangeError(fmt::format("{}: {} longer than {} bytes", Subject(request), what, bytes_max));
}

absl::Status TransportErrors::BodyTooLong(const HttpRequest& request) const {
  return Overflow(request, "response body", options_.body_size_max);
}

absl::Status TransportErrors::LineTooLong(const HttpRequest& request) const {
  return Overflow(request, "line", options_.line_size_max);
}

absl::Status TransportErrors::HeadersTooLong(const HttpRequest& request) const {
  return Overflow(request, "headers", options_.header_size_max);
}

absl::Status TransportErrors::SinkEnded(const HttpRequest& request, GuardedSink::End end) const {
  switch (end) {
    case GuardedSink::End::kStopRequested: return Stopped(request);
    case GuardedSink::End::kException:
      return absl::InternalError(fmt::format("{}: the sink threw an exception", Subject(request)));
    case GuardedSink::End::kNone:
    case GuardedSink::End::kSink: break;
  }
  return absl::OkStatus();
}

}  // namespace driverupgrade
