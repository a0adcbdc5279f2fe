// Collects the content of the metrics page: each metric once, with its help text.
#ifndef DRIVERUPGRADE_SRC_PROMETHEUS_METRIC_FAMILIES_H_
#define DRIVERUPGRADE_SRC_PROMETHEUS_METRIC_FAMILIES_H_

#include <vector>

#include "driverupgrade/observer.h"
#include "driverupgrade/prometheus/metrics_collector.h"

namespace driverupgrade::internal {

// Returns metric families with the samples of all drivers. Includes the metrics of the process if `options` has sources
// for these metrics.
std::vector<MetricFamily> MakeFamilies(const std::vector<MetricsSnapshot>& drivers, const MetricsOptions& options);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_PROMETHEUS_METRIC_FAMILIES_H_
