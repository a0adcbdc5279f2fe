// Medians of the runs, beside the limit.
#ifndef DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_
#define DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_

#include <string>
#include <vector>

#include "rollout/arena.h"

namespace driverupgrade::bench {

// What one program made of one rollout.
struct Series {
  std::string program;
  std::vector<Run> runs;
};

// One world and one number of nodes at a time. The first series is the limit's.
struct Rollout {
  int nodes = 0;
  int parallel = 0;  // 0 = all at once
  std::vector<Series> series;
  std::string not_done;  // which program did not do its work, after which nothing more was measured; empty: all did
};

// What the figures are judged by, in a line.
std::string FormatTargets();
std::string FormatText(const Rollout& rollout);
std::string FormatJson(const std::vector<Rollout>& rollouts);

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_ROLLOUT_REPORT_H_
