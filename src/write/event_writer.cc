#include "write/event_writer.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace driverupgrade::internal {
namespace {

// Maximum number of nodes with waiting Events. Further Events are dropped, as in client-go (api-A50).
constexpr std::size_t kNodesQueuedMax = 10'000;
// Maximum number of waiting Events per node. This is more than the number of states in an upgrade.
constexpr std::size_t kEventsOfNodeMax = 100;
// Maximum number of waiting Events from WriteLimited.
constexpr std::size_t kLimitedQueuedMax = 1'000;

}  // namespace

EventWriter::EventWriter(std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock,
                         absl::Duration call_timeout, int threads)
    : cluster_(std::move(cluster)), clock_(std::move(clock)), call_timeout_(call_timeout), pool_(threads) {}

EventWriter::~EventWriter() { stopping_ = true; }

void EventWriter::Write(const CallContext& context, std::vector<RecordEventParams> events) {
  if (events.empty()) return;
  const std::string node = events.front().node_name;
  {
    const std::lock_guard lock(mutex_);
    if (nodes_.size() >= kNodesQueuedMax) return;
    const auto [queue, is_first] = nodes_.try_emplace(node);
    for (RecordEventParams& event : events) {
      if (queue->second.size() < kEventsOfNodeMax) queue->second.emplace_back(context, std::move(event));
    }
    if (!is_first) return;
  }
  pool_.Submit([this, node] { WriteNode(node); });
}

void EventWriter::WriteNode(const std::string& node) {
  while (true) {
    std::optional<Waiting> next;
    {
      const std::lock_guard lock(mutex_);
      next = Next(nodes_[node]);
      if (!next) {
        nodes_.erase(node);
        return;
      }
    }
    Record(next->first, next->second);
  }
}

std::optional<EventWriter::Waiting> EventWriter::Next(std::deque<Waiting>& queue) {
  if (queue.empty() || stopping_) return std::nullopt;
  Waiting next = std::move(queue.front());
  queue.pop_front();
  return next;
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
    std::optional<Waiting> next;
    {
      const std::lock_guard lock(mutex_);
      next = Next(queue_);
      if (!next) {
        writing_queue_ = false;
        return;
      }
    }
    Record(next->first, next->second);
  }
}

void EventWriter::Record(const CallContext& context, const RecordEventParams& event) {
  const CallContext bounded{.deadline = std::min(context.deadline, clock_->Now() + call_timeout_),
                            .stop = context.stop};
  cluster_->RecordEvent(bounded, event).IgnoreError();  // an Event never delays or fails an upgrade (api-A50)
}

}  // namespace driverupgrade::internal
