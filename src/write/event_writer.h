// Writes Events on a best-effort basis, outside the critical path (api-A50).
#ifndef DRIVERUPGRADE_SRC_WRITE_EVENT_WRITER_H_
#define DRIVERUPGRADE_SRC_WRITE_EVENT_WRITER_H_

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "write/event_correlator.h"
#include "write/worker_pool.h"

namespace driverupgrade::internal {

// Thread-safe. With `threads` below 2, everything is written on the calling thread.
class EventWriter {
 public:
  // `call_timeout` limits the call for each Event, in addition to the deadline of the context.
  EventWriter(std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock, absl::Duration call_timeout,
              int threads);
  // Waits for the calls in flight, and drops all other Events.
  ~EventWriter();

  // Writes all Events of one node, without limits and in the order of the calls. Readers of the node's history need
  // this order, because timestamps have a resolution of one second. Drops the Events if too many nodes are waiting.
  void Write(const CallContext& context, std::vector<RecordEventParams> events);
  // Limits Events with an EventCorrelator. Writes them one at a time, even for several callers, so that the counts of a
  // series arrive in order.
  void WriteLimited(const CallContext& context, std::vector<RecordEventParams> events);
  // Waits until all earlier Events have been written or dropped.
  void WaitIdle() { pool_.WaitIdle(); }

 private:
  using Waiting = std::pair<CallContext, RecordEventParams>;

  void Record(const CallContext& context, const RecordEventParams& event);
  void WriteNode(const std::string& node);
  void WriteQueue();
  // Returns the next item of `queue`; nullopt if the queue is empty, or if the writer stops.
  std::optional<Waiting> Next(std::deque<Waiting>& queue);

  const std::shared_ptr<ClusterWriter> cluster_;
  const std::shared_ptr<Clock> clock_;
  const absl::Duration call_timeout_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  // Guarded by mutex_.
  EventCorrelator correlator_;
  std::deque<Waiting> queue_;
  std::map<std::string, std::deque<Waiting>> nodes_;  // one task per node
  bool writing_queue_ = false;
  WorkerPool pool_;  // declared last, and thus destroyed first: its threads use the other members
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_EVENT_WRITER_H_
