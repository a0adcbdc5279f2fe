#include "write/event_writer.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace driverupgrade::internal {
namespace {

// Nodes whose Events wait; beyond that they are dropped, as client-go does (api-A50).
constexpr std::size_t kNodesQueuedMax = 10'000;
// Limited Events that wait.
constexpr std::size_t kLimitedQueuedMax = 1'000;

}  // namespace

EventWriter::EventWriter(std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock,
                         absl::Duration call_timeout, int threads)
    : cluster_(std::move(cluster)), clock_(std::move(clock)), call_timeout_(call_timeout), pool_(threads) {}

EventWriter::~EventWriter() { stopping_ = true; }

void EventWriter::Write(const CallContext& context, std::vector<RecordEventParams> events) {
  if (pool_.queued() >= kNodesQueuedMax) return;
  pool_.Submit([this, context, events = std::move(events)] {
    for (const RecordEventParams& event : events) {
      if (!stopping_) Record(context, event);
    }
  });
}

void EventWriter::WriteLimited(const CallContext& context, std::vector<RecordEventParams> events) {
  {
    const std::lock_guard lock(mutex_);
    for (RecordEventParams& event : events) {
      std::optional<RecordEventParams> limited = correlator_.Correlate(std::move(event));
      if (limited && queue_.size() < kLimitedQueuedMax) queue_.emplace_back(context, *std::move(limited));
    }
    if (queue_.empty() || std::exchange(writing_queue_, true)) return;
  }
  pool_.Submit([this] { WriteQueue(); });
}

void EventWriter::WriteQueue() {
  while (true) {
    std::pair<CallContext, RecordEventParams> next;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.empty() || stopping_) {
        writing_queue_ = false;
        return;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    Record(next.first, next.second);
  }
}

void EventWriter::Record(const CallContext& context, const RecordEventParams& event) {
  const CallContext bounded{.deadline = std::min(context.deadline, clock_->Now() + call_timeout_),
                            .stop = context.stop};
  cluster_->RecordEvent(bounded, event).IgnoreError();  // an Event never holds up or fails an upgrade (api-A50)
}

}  // namespace driverupgrade::internal
