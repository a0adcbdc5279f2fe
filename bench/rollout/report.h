// Formats the medians of the runs, and compares them with the limit.
#ifndef DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_
#define DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_

#include <string>
#include <vector>

#include "rollout/arena.h"

namespace driverupgrade::bench {

// The runs of one program, all with the same cluster and the same number of nodes in progress.
struct Series {
  std::string program;
  std::vector<Run> runs;
};

// Results for one cluster and one number of nodes in progress. The first series is from rollout_limit.
struct Rollout {
  int nodes = 0;
  int parallel = 0;  // 0 = all at once
  std::vector<Series> series;
  std::string not_done;  // program that failed, after which nothing was measured; empty: no program failed
};

// Returns the targets for the results, on a single line.
std::string FormatTargets();
std::string FormatText(const Rollout& rollout);
std::string FormatJson(const std::vector<Rollout>& rollouts);

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_
