// Collects the content of the page: every metric once, with its help text.
#ifndef DRIVERUPGRADE_SRC_PROMETHEUS_METRIC_FAMILIES_H_
#define DRIVERUPGRADE_SRC_PROMETHEUS_METRIC_FAMILIES_H_

#include <vector>

#include "driverupgrade/metrics_snapshot.h"
#include "driverupgrade/prometheus/metrics_collector.h"

namespace driverupgrade::internal {

// Each family has the samples of all drivers. The metrics of the process are included if `options` has sources for
// them.
std::vector<MetricFamily> MakeFamilies(const std::vector<MetricsSnapshot>& drivers, const MetricsOptions& options);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_PROMETHEUS_METRIC_FAMILIES_H_
