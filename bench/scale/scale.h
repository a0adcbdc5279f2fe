// What a big cluster costs: figures, without a control plane.
#ifndef DRIVERUPGRADE_BENCH_SCALE_SCALE_H_
#define DRIVERUPGRADE_BENCH_SCALE_SCALE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace driverupgrade::bench {

// A rollout over the fake cluster, in virtual time, with one call at a time.
struct RolloutFigures {
  int nodes = 0;
  int done = 0;
  int passes = 0;
  std::uint64_t judgements = 0;
  std::size_t api_calls = 0;  // without watches, Events and the ledger
  std::size_t ledger_calls = 0;
  absl::Duration virtual_time = {};  // what the rollout took
  absl::Duration wall_time = {};     // of everything
  // The processor's time of the passes, and of the fake cluster in their calls.
  absl::Duration engine_work = {};
  absl::Duration cluster_work = {};
  absl::Duration most_work = {};     // of one pass, without the fake cluster's
  absl::Duration slowest_pass = {};  // with it, on the wall
  std::size_t peak_bytes = 0;  // of the process, the fake cluster included
};
// `groups` > 0: by a policy with three stages (one in a hundred nodes, one in ten, the others), whose nodes start together
// in so many groups of the same size; `parallel` of them at a time.
RolloutFigures MeasureRollout(int nodes, int parallel, int groups);

// A cache with the pods of every node known.
struct MemoryFigures {
  int nodes = 0;
  int pods = 0;
  std::size_t empty_bytes = 0;      // resident, before there was a cache
  std::size_t full_bytes = 0;       // resident, with it
  std::size_t allocated_bytes = 0;  // of the heap, by it
};
MemoryFigures MeasureMemory(int nodes, int pods_per_node);

// From a change in the cluster to the first write that it causes, in real time, with the controller's own loop.
struct LatencyFigures {
  int nodes = 0;
  std::vector<absl::Duration> samples = {};  // sorted
};
LatencyFigures MeasureLatency(int nodes, int samples);

// What it cost to take in objects of realistic size from a server on the loopback interface, which is a process of its
// own. Its work is in the wall clock, not in the rest.
struct WireCost {
  int objects = 0;
  absl::Duration wall_time = {};
  absl::Duration processor_time = {};
  std::size_t before_bytes = 0;  // resident
  std::size_t peak_bytes = 0;
};
struct WireFigures {
  int nodes = 0;
  std::size_t node_bytes = 0;  // of one, as JSON
  std::size_t pod_bytes = 0;
  WireCost list = {};              // ListNodes, in pages of 500
  WireCost sync = {};              // a cache begins: nodes and driver pods
  WireCost read = {};              // the pods of every node, by one list each
  WireCost follow = {};            // the watch tells of a change of each of them
  std::size_t resident_bytes = 0;  // with all of it
};
// `readers`: lists of pods at a time.
absl::StatusOr<WireFigures> MeasureWire(int nodes, int pods_per_node, int readers);

// A rollout in virtual time by a service whose page is read meanwhile.
struct PageFigures {
  int nodes = 0;
  int rounds = 0;
  // Times of the thread that steps the service: the processor's time, the wall clock, and the longest round.
  absl::Duration round_work = {};
  absl::Duration rounds_time = {};
  absl::Duration slowest_round = {};
  // Figures of one document.
  absl::Duration document_work = {};
  std::size_t document_bytes = 0;
  std::size_t compressed_bytes = 0;  // with gzip, as a browser gets it
  int answers = 0;
};
// `readers`: each reads the document twice a second of real time.
PageFigures MeasurePage(int nodes, int parallel, int readers);

// Of this process, from /proc; 0 where there is none.
std::size_t ResidentBytes();
// Since the last ResetPeak.
std::size_t PeakResidentBytes();
void ResetPeak();

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_SCALE_SCALE_H_
