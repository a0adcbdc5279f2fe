#include <algorithm>
#include <array>

#include "driverupgrade/observer.h"

namespace driverupgrade {
namespace {

// Bounds in seconds, from a read that the server's cache serves to a request that exceeds its time limit.
constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0};

}  // namespace

void RequestMeter::Count(const RequestKind& kind) {
  const std::lock_guard lock(mutex_);
  ++figures_.requests[kind];
}

void RequestMeter::Time(std::string_view verb, absl::Duration taken) {
  const std::lock_guard lock(mutex_);
  Histogram& histogram = figures_.seconds[std::string(verb)];
  if (histogram.bounds.empty()) histogram.bounds.assign(kBounds.begin(), kBounds.end());
  // A wall clock can be set back.
  histogram.Add(std::max(0.0, absl::ToDoubleSeconds(taken)));
}

RequestFigures RequestMeter::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace driverupgrade
