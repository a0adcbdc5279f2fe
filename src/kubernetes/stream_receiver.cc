#include "kubernetes/stream_receiver.h"

#include <utility>

namespace driverupgrade {

bool StreamReceiver::OnHead(const HttpResponse& head) {
  if (HeaderSize(head) > options_.header_size_max) return End(errors_.HeadersTooLong(request_));
  accepted_ = head.status / 100 == 2;
  if (!accepted_) return true;
  sink_.OnOpen(head);
  return sink_.end() == GuardedSink::End::kNone || End(errors_.SinkEnded(request_, sink_.end()));
}

bool StreamReceiver::OnBytes(std::string_view bytes) {
  if (accepted_) {
    switch (lines_.Feed(bytes, sink_)) {
      case LineSplitter::Verdict::kMore: return true;
      case LineSplitter::Verdict::kSinkStopped: return End(errors_.SinkEnded(request_, sink_.end()));
      case LineSplitter::Verdict::kLineTooLong: return End(errors_.LineTooLong(request_));
    }
  }
  if (bytes.size() > options_.body_size_max - error_body_.size()) return End(errors_.BodyTooLong(request_));
  error_body_.append(bytes);
  return true;
}

bool StreamReceiver::End(absl::Status status) {
  ended_ = true;
  status_ = std::move(status);
  return false;
}

}  // namespace driverupgrade
