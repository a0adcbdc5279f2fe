/// The figures of several engines of one driver as one: a name may stand on a page only once for each driver.
///
/// Defines SumFigures.
///
///     MetricsSnapshot all = SumFigures({a->Snapshot(), b->Snapshot()}, {gone}, MetricsObserver(identity).Snapshot());
///
/// Pure.
#ifndef DRIVERUPGRADE_SRC_SERVICE_METRICS_SUM_H_
#define DRIVERUPGRADE_SRC_SERVICE_METRICS_SUM_H_

#include <vector>

#include "driverupgrade/metrics_snapshot.h"

namespace driverupgrade::internal {

/// Counts are summed; auto_upgrade and paused are set if one of `running` has them; the latest progress counts. A sum
/// of limits has a limit only if all have one. Of engines that run no more, `ended`, the counters stay, which must not
/// go back. `none`: the figures where nothing runs.
MetricsSnapshot SumFigures(const std::vector<MetricsSnapshot>& running, const std::vector<MetricsSnapshot>& ended,
                           MetricsSnapshot none);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_METRICS_SUM_H_
