// Errors that the backends themselves detect, with messages that all backends share. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_TRANSPORT_ERRORS_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_TRANSPORT_ERRORS_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "kubernetes/guarded_sink.h"

namespace driverupgrade {

// Returns the time that is `duration` from now, or the maximum time if `duration` is more than a year.
std::chrono::steady_clock::time_point After(absl::Duration duration);

// Returns the number of bytes in all header names and values.
std::size_t HeaderSize(const HttpResponse& head);

class TransportErrors {
 public:
  // `server` has the form "https://host:port/prefix".
  TransportErrors(std::string server, const TransportOptions& options)
      : server_(std::move(server)), options_(options) {}

  // Returns a string such as "GET https://host:port/api/v1/nodes", which never contains the query.
  std::string Subject(const HttpRequest& request) const;

  // Returns an error, marked as not sent, if the call must not start.
  absl::Status CheckWanted(const CallContext& context, const HttpRequest& request) const;
  absl::Status Stopped(const HttpRequest& request) const;
  // Returns the error for a Send without a response.
  absl::Status NoAnswer(const HttpRequest& request, absl::Duration within) const;
  // Returns the error for a Stream that timed out. `accepted` is true if a 2xx head was received.
  absl::Status StreamTimedOut(const HttpRequest& request, bool deadline_over, bool accepted) const;
  absl::Status BodyTooLong(const HttpRequest& request) const;
  absl::Status LineTooLong(const HttpRequest& request) const;
  absl::Status HeadersTooLong(const HttpRequest& request) const;
  // Returns OK if the sink has ended the stream without an error.
  absl::Status SinkEnded(const HttpRequest& request, GuardedSink::End end) const;

 private:
  absl::Status Overflow(const HttpRequest& request, std::string_view what, std::size_t bytes_max) const;

  const std::string server_;
  const TransportOptions options_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_TRANSPORT_ERRORS_H_
