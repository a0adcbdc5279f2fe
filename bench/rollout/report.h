// Medians of the runs, compared with the limit.
#ifndef DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_
#define DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_

#include <string>
#include <vector>

#include "rollout/arena.h"

namespace driverupgrade::bench {

// The runs of one program in one rollout.
struct Series {
  std::string program;
  std::vector<Run> runs;
};

// One cluster and one number of nodes in progress. The first series is the limit's.
struct Rollout {
  int nodes = 0;
  int parallel = 0;  // 0 = all at once
  std::vector<Series> series;
  std::string not_done;  // the program that failed, after which no more was measured; empty: none
};

// The criteria for the results, on a single line.
std::string FormatTargets();
std::string FormatText(const Rollout& rollout);
std::string FormatJson(const std::vector<Rollout>& rollouts);

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_
