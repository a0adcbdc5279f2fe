/// Sums the metrics of several engines of one driver, because a metrics page may contain a metric name only once for
/// each driver.
///
/// Defines SumFigures.
///
///     MetricsSnapshot all = SumFigures({a->Snapshot(), b->Snapshot()}, {gone}, MetricsObserver(identity).Snapshot());
///
/// Pure.
#ifndef DRIVERUPGRADE_SRC_SERVICE_METRICS_SUM_H_
#define DRIVERUPGRADE_SRC_SERVICE_METRICS_SUM_H_

#include <vector>

#include "driverupgrade/observer.h"

namespace driverupgrade::internal {

/// Sums counts. auto_upgrade and paused are true if they are true in at least one of `running`. The time of the last
/// progress is the latest such time of all engines. The sum has a limit only if every engine has a limit. Engines that
/// no longer run, `ended`, still contribute their counters, because counters must not decrease. `none`: the result if
/// no engine runs.
MetricsSnapshot SumFigures(const std::vector<MetricsSnapshot>& running, const std::vector<MetricsSnapshot>& ended,
                           MetricsSnapshot none);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_METRICS_SUM_H_
