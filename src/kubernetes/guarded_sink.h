// Wraps the caller's sink for a backend: checks the stop token before each line, and catches exceptions. Private to
// src/kubernetes; shared by the backends. Not thread-safe.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_GUARDED_SINK_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_GUARDED_SINK_H_

#include <stop_token>
#include <string_view>

#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade {

class GuardedSink : public LineSink {
 public:
  enum class End { kNone, kSink, kStopRequested, kException };

  GuardedSink(LineSink& sink, const std::stop_token& stop) : sink_(sink), stop_(stop) {}

  void OnOpen(const HttpResponse& head) override {
    Guard([&] {
      sink_.OnOpen(head);
      return true;
    });
  }
  bool OnLine(std::string_view line) override {
    if (stop_.stop_requested()) end_ = End::kStopRequested;
    return end_ == End::kNone && Guard([&] { return sink_.OnLine(line); });
  }
  End end() const { return end_; }

 private:
  template <typename F>
  bool Guard(F call) {
    try {
      if (!call()) end_ = End::kSink;
    } catch (...) {
      end_ = End::kException;
    }
    return end_ == End::kNone;
  }

  LineSink& sink_;
  const std::stop_token& stop_;
  End end_ = End::kNone;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_GUARDED_SINK_H_
