#include "driverupgrade/prometheus/metrics_collector.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <utility>

#include "prometheus/metric_families.h"
#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace driverupgrade {
namespace {

// Returns the number of nodes that may start now. If the policy has no limits, every waiting node may start.
int MayStart(const MetricsSnapshot& figures) {
  const UpgradeBudget& budget = figures.budget;
  if (budget.Halted()) return 0;
  if (!budget.parallel_max && !budget.shared && !budget.unavailable_max) return figures.nodes.pending;
  return std::min(budget.ParallelFree(), budget.Headroom());
}

// Returns the same values as the GPU Operator: -1 after a failure, 1 after a success, and 0 before the first success.
int ReconcileStatus(const MetricsSnapshot& figures) {
  if (figures.failing) return -1;
  return figures.last_success ? 1 : 0;
}

double ValueOf(MetricAlias::Value value, const MetricsSnapshot& figures) {
  switch (value) {
    case MetricAlias::Value::kAutoUpgrade: return figures.auto_upgrade;
    case MetricAlias::Value::kInProgress: return figures.nodes.in_progress - figures.nodes.failed;
    case MetricAlias::Value::kDone: return figures.nodes.done;
    case MetricAlias::Value::kFailed: return figures.nodes.failed;
    case MetricAlias::Value::kAvailable: return MayStart(figures);
    case MetricAlias::Value::kPending: return figures.nodes.pending;
    case MetricAlias::Value::kReconcileStatus: return ReconcileStatus(figures);
    case MetricAlias::Value::kReconciles: return static_cast<double>(figures.reconcile_seconds.Count());
    case MetricAlias::Value::kReconcileFailures: return static_cast<double>(figures.reconcile_errors);
    case MetricAlias::Value::kLastSuccess:
      return figures.last_success ? absl::ToDoubleSeconds(*figures.last_success - absl::UnixEpoch()) : 0;
  }
  return 0;
}

MetricFamily::Type TypeOf(MetricAlias::Value value) {
  const bool counts = value == MetricAlias::Value::kReconciles || value == MetricAlias::Value::kReconcileFailures;
  return counts ? MetricFamily::Type::kCounter : MetricFamily::Type::kGauge;
}

prometheus::MetricFamily ToPrometheus(const MetricFamily& family) {
  using Type = prometheus::MetricType;
  prometheus::MetricFamily result;
  result.name = family.name;
  result.help = family.help;
  switch (family.type) {
    case MetricFamily::Type::kGauge: result.type = Type::Gauge; break;
    case MetricFamily::Type::kCounter: result.type = Type::Counter; break;
    case MetricFamily::Type::kHistogram: result.type = Type::Histogram; break;
  }
  for (const MetricSample& sample : family.samples) {
    auto& metric = result.metric.emplace_back();
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    metric.gauge.value = sample.value;
    metric.counter.value = sample.value;
    const Histogram& histogram = sample.histogram;
    metric.histogram.sample_count = histogram.Count();
    metric.histogram.sample_sum = histogram.sum;
    std::uint64_t up_to = 0;
    for (std::size_t i = 0; i < histogram.bounds.size(); ++i) {
      up_to += i < histogram.counts.size() ? histogram.counts[i] : 0;
      metric.histogram.bucket.push_back({up_to, histogram.bounds[i]});
    }
  }
  return result;
}

}  // namespace

MetricsCollector::MetricsCollector(std::vector<MetricsSource> sources, MetricsOptions options)
    : sources_(std::move(sources)), options_(std::move(options)) {}

std::vector<MetricFamily> MetricsCollector::Collect() const {
  std::vector<MetricsSnapshot> drivers;
  for (const MetricsSource& source : sources_) drivers.push_back(source());
  std::vector<MetricFamily> families = internal::MakeFamilies(drivers, options_);
  for (const MetricAlias& alias : options_.aliases) {
    const auto driver =
        std::find_if(drivers.begin(), drivers.end(), [&](const auto& known) { return known.driver == alias.driver; });
    if (driver == drivers.end()) continue;
    MetricFamily family{.name = alias.name, .help = alias.help, .type = TypeOf(alias.value)};
    family.samples.push_back({.value = ValueOf(alias.value, *driver)});
    families.push_back(std::move(family));
  }
  return families;
}

std::string MetricsCollector::Text() const {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricFamily& family : Collect()) families.push_back(ToPrometheus(family));
  std::ostringstream page;
  prometheus::TextSerializer().Serialize(page, families);
  return page.str();
}

}  // namespace driverupgrade
