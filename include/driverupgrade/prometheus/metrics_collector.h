/// Exports the metrics of one or more rollouts to Prometheus.
///
/// Defines MetricsCollector, MetricsOptions, MetricAlias, GpuOperatorAliases, MetricFamily and MetricSample.
///
///     MetricsCollector collector({[metrics] { return metrics->Snapshot(); }},
///                                {.aliases = GpuOperatorAliases("nvidia.com/gpu")});
///     server.Get("/metrics", [&] { return collector.Text(); });
///
/// docs/monitoring.md describes all metrics. A process needs one collector for all its drivers, because a metric name
/// may appear only once on a page.
///
/// Thread-safe if the sources are.
#ifndef DRIVERUPGRADE_PROMETHEUS_METRICS_COLLECTOR_H_
#define DRIVERUPGRADE_PROMETHEUS_METRICS_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/observer.h"
#include "driverupgrade/watch_cache.h"

namespace driverupgrade {

/// Returns the current metrics of one driver: MetricsObserver::Snapshot, plus data that only the embedding program
/// knows.
using MetricsSource = std::function<MetricsSnapshot()>;

/// A metric that is also exported without labels, under a name that existing dashboards use.
struct MetricAlias {
  enum class Value : std::uint8_t {
    kAutoUpgrade,  ///< 1 if autoUpgrade is on, otherwise 0.
    kInProgress,   ///< Nodes in progress, not counting failed nodes.
    kDone,
    kFailed,
    kAvailable,          ///< Nodes that may start now under both limits; never negative.
    kPending,            ///< Nodes in upgrade-required.
    kReconcileStatus,    ///< 1: the last pass succeeded; -1: the last pass failed; 0: no pass yet.
    kReconciles,         ///< Number of passes, as a counter.
    kReconcileFailures,  ///< Number of failed passes, as a counter.
    kLastSuccess,        ///< Unix time of the last pass that succeeded; 0 before the first.
  };
  std::string name = {};
  std::string help = {};
  Value value = Value::kDone;
  /// DriverIdentity::Name of the driver that the metric describes.
  std::string driver = {};
};
/// Returns aliases with the names of the GPU Operator's metrics: `gpu_operator_nodes_upgrades_*`,
/// `gpu_operator_reconciliation_*`, and two names for `autoUpgrade`, one from NVIDIA's documentation and one from the
/// GPU Operator's code. Unlike in the GPU Operator, failed nodes do not count as in progress.
std::vector<MetricAlias> GpuOperatorAliases(const std::string& driver);

struct MetricsOptions {
  std::vector<MetricAlias> aliases = {};
  /// Sources of process-wide metrics: RequestMeter::Snapshot and WatchCache::Restarts. Null: not exported.
  std::function<RequestFigures()> requests = nullptr;
  std::function<std::map<WatchRestart, std::uint64_t>()> watch_restarts = nullptr;
};

struct MetricSample {
  /// Pairs of name and value.
  std::vector<std::pair<std::string, std::string>> labels = {};
  double value = 0;
  /// Used instead of `value` in a family of histograms.
  Histogram histogram = {};
};

/// All samples with the same name.
struct MetricFamily {
  enum class Type : std::uint8_t { kGauge, kCounter, kHistogram };
  std::string name = {};
  std::string help = {};
  Type type = Type::kGauge;
  std::vector<MetricSample> samples = {};
};

class MetricsCollector {
 public:
  explicit MetricsCollector(std::vector<MetricsSource> sources, MetricsOptions options = {});

  /// Returns all metrics; queries every source once.
  std::vector<MetricFamily> Collect() const;
  /// Returns all metrics in the text format that Prometheus scrapes.
  std::string Text() const;
  /// The media type of Text().
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  std::vector<MetricsSource> sources_;
  MetricsOptions options_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_PROMETHEUS_METRICS_COLLECTOR_H_
