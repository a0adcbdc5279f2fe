// Measures the cost of a large cluster, without a control plane.
#ifndef DRIVERUPGRADE_BENCH_SCALE_SCALE_H_
#define DRIVERUPGRADE_BENCH_SCALE_SCALE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace driverupgrade::bench {

// A rollout on the fake cluster, in virtual time, with one call at a time.
struct RolloutFigures {
  int nodes = 0;
  int done = 0;
  int passes = 0;
  std::uint64_t judgements = 0;
  std::size_t api_calls = 0;  // excluding watches, Events and the ledger
  std::size_t ledger_calls = 0;
  absl::Duration virtual_time = {};  // duration of the rollout
  absl::Duration wall_time = {};     // total
  // CPU time of the passes, and of the fake cluster during their calls.
  absl::Duration engine_work = {};
  absl::Duration cluster_work = {};
  absl::Duration most_work = {};     // maximum over the passes, without the fake cluster
  absl::Duration slowest_pass = {};  // wall time, with the fake cluster
  std::size_t peak_bytes = 0;        // memory of the process, including the fake cluster
};
// Measures one rollout. If `groups` is positive, the policy has three stages (one in a hundred nodes, one in ten, the
// rest), and the nodes form this number of groups of equal size. The nodes of a group start together, with at most
// `parallel` nodes in progress.
RolloutFigures MeasureRollout(int nodes, int parallel, int groups);

// Memory of a cache that knows the pods of every node.
struct MemoryFigures {
  int nodes = 0;
  int pods = 0;
  std::size_t empty_bytes = 0;      // resident, before the cache was created
  std::size_t full_bytes = 0;       // resident, with the cache
  std::size_t allocated_bytes = 0;  // heap used by the cache
};
MemoryFigures MeasureMemory(int nodes, int pods_per_node);

// Time from a change in the cluster to the first write that it causes, in real time, with the controller's own loop.
struct LatencyFigures {
  int nodes = 0;
  std::vector<absl::Duration> samples = {};  // sorted
};
LatencyFigures MeasureLatency(int nodes, int samples);

// Cost of receiving objects of realistic size from a server on the loopback interface. The server is a separate
// process, so its work is included only in the wall time.
struct WireCost {
  int objects = 0;
  absl::Duration wall_time = {};
  absl::Duration processor_time = {};
  std::size_t before_bytes = 0;  // resident
  std::size_t peak_bytes = 0;
};
struct WireFigures {
  int nodes = 0;
  std::size_t node_bytes = 0;  // size of one node, as JSON
  std::size_t pod_bytes = 0;
  WireCost list = {};              // ListNodes, in pages of 500
  WireCost sync = {};              // start of a cache: nodes and driver pods
  WireCost read = {};              // the pods of every node, with one list for each node
  WireCost follow = {};            // the watch reports a change to each pod
  std::size_t resident_bytes = 0;  // resident memory with everything above
};
// `readers` is the number of concurrent pod lists.
absl::StatusOr<WireFigures> MeasureWire(int nodes, int pods_per_node, int readers);

// A rollout in virtual time by a service whose page is read at the same time.
struct PageFigures {
  int nodes = 0;
  int rounds = 0;
  // Times of the thread that steps the service: the CPU time, the wall time, and the longest round.
  absl::Duration round_work = {};
  absl::Duration rounds_time = {};
  absl::Duration slowest_round = {};
  // Costs of one document.
  absl::Duration document_work = {};
  std::size_t document_bytes = 0;
  std::size_t compressed_bytes = 0;  // with gzip, as sent to a browser
  int answers = 0;
};
// Each of the `readers` reads the document twice per second of real time.
PageFigures MeasurePage(int nodes, int parallel, int readers);

// Memory of this process, from /proc; 0 if /proc is not available.
std::size_t ResidentBytes();
// Peak memory since the last ResetPeak.
std::size_t PeakResidentBytes();
void ResetPeak();

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_SCALE_SCALE_H_
