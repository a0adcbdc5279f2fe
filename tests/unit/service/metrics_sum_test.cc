#include "service/metrics_sum.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::SumFigures;

MetricsSnapshot Figures(int done, std::uint64_t deleted, std::optional<int> parallel_max) {
  MetricsSnapshot figures{.driver = "nvidia.com/gpu"};
  figures.nodes.total = figures.nodes.done = done;
  figures.budget.parallel_max = parallel_max;
  figures.blocked[GateReason::kFailed] = done;
  figures.driver_pods_deleted = deleted;
  figures.upgrade_seconds = {.bounds = {1, 2}, .counts = {deleted, 0, 1}, .sum = 3};
  return figures;
}

TEST_CASE("the metrics of running engines are summed, and engines that have ended add only their counters") {
  MetricsSnapshot first = Figures(3, 1, 2);
  first.last_progress = absl::UnixEpoch();
  MetricsSnapshot second = Figures(4, 2, 5);
  second.auto_upgrade = true;
  second.last_progress = absl::UnixEpoch() + absl::Seconds(1);
  const MetricsSnapshot sum = SumFigures({first, second}, {Figures(100, 10, 7)}, {});
  CHECK(sum.driver == "nvidia.com/gpu");
  CHECK(sum.nodes.total == 7);
  CHECK(sum.nodes.done == 7);
  CHECK(sum.budget.parallel_max == 7);
  CHECK(sum.blocked.at(GateReason::kFailed) == 7);
  CHECK(sum.auto_upgrade);
  CHECK_FALSE(sum.paused);
  CHECK(sum.driver_pods_deleted == 13);
  CHECK(sum.upgrade_seconds == Histogram{.bounds = {1, 2}, .counts = {13, 0, 3}, .sum = 9});
  CHECK(sum.last_progress == second.last_progress);
}

TEST_CASE("the sum of limits is unlimited if one of the limits is missing") {
  CHECK_FALSE(SumFigures({Figures(1, 0, 2), Figures(1, 0, std::nullopt)}, {}, {}).budget.parallel_max);
  CHECK_FALSE(SumFigures({Figures(1, 0, std::nullopt), Figures(1, 0, 2)}, {}, {}).budget.parallel_max);
}

TEST_CASE("for engines that share a limit, only slots that no engine uses are free") {
  MetricsSnapshot first = Figures(3, 1, 9);
  MetricsSnapshot second = Figures(4, 2, 9);
  first.budget.parallel_used = 1;
  first.budget.shared = SharedSlots{.max = 5, .used_elsewhere = 2};
  second.budget.parallel_used = 2;
  second.budget.shared = SharedSlots{.max = 5, .used_elsewhere = 1};
  CHECK(SumFigures({first, second}, {}, {}).budget.ParallelFree() == 2);
  second.budget.shared->used_elsewhere.reset();
  CHECK(SumFigures({first, second}, {}, {}).budget.ParallelFree() == 0);
}

TEST_CASE("if no engine runs, the gauges are 0, and the counters keep their values") {
  const MetricsSnapshot sum = SumFigures({}, {Figures(3, 1, 2)}, {.driver = "nvidia.com/gpu"});
  CHECK(sum.nodes == Tally{});
  CHECK(sum.blocked.empty());
  CHECK(sum.driver_pods_deleted == 1);
}

}  // namespace
}  // namespace driverupgrade::tests
