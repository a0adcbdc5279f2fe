// Processes the head and the bytes that a backend receives for one Stream call. Private to src/kubernetes. Not
// thread-safe.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_STREAM_RECEIVER_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_STREAM_RECEIVER_H_

#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "kubernetes/guarded_sink.h"
#include "kubernetes/line_splitter.h"
#include "kubernetes/transport_errors.h"

namespace driverupgrade {

class StreamReceiver {
 public:
  // All arguments must outlive the receiver.
  StreamReceiver(const TransportErrors& errors, const TransportOptions& options, const HttpRequest& request,
                 LineSink& sink, const std::stop_token& stop)
      : errors_(errors), options_(options), request_(request), sink_(sink, stop), lines_(options.line_size_max) {}

  // Both functions return false to end the stream. status() then contains the reason, or OK if the sink ended the
  // stream.
  bool OnHead(const HttpResponse& head);
  bool OnBytes(std::string_view bytes);

  bool accepted() const { return accepted_; }
  bool ended() const { return ended_; }
  const absl::Status& status() const { return status_; }
  // The body of an unsuccessful response.
  std::string& error_body() { return error_body_; }

 private:
  bool End(absl::Status status);

  const TransportErrors& errors_;
  const TransportOptions& options_;
  const HttpRequest& request_;
  GuardedSink sink_;
  LineSplitter lines_;
  bool accepted_ = false;
  bool ended_ = false;
  absl::Status status_;
  std::string error_body_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_STREAM_RECEIVER_H_
