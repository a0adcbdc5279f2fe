/// A MetricsCollector as prometheus-cpp knows collectors, for embedders who have an Exposer or a Gateway already.
///
/// Defines AsCollectable.
///
///     #include "prometheus/collectable.h"
///     #include "prometheus/exposer.h"
///
///     auto collectable = AsCollectable<prometheus::Collectable>(collector);
///     exposer.RegisterCollectable(collectable);  // which holds it weakly
///
/// A template, so that this header needs nothing of prometheus-cpp and its types are those of the embedder's own
/// version.
#ifndef DRIVERUPGRADE_PROMETHEUS_COLLECTABLE_H_
#define DRIVERUPGRADE_PROMETHEUS_COLLECTABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "driverupgrade/prometheus/metrics_collector.h"

namespace driverupgrade {

namespace internal {

/// `Family` is prometheus::MetricFamily.
template <typename Family>
Family ToPrometheus(const MetricFamily& family) {
  using Type = decltype(Family::type);
  Family result;
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

template <typename Collectable>
class RegisteredCollector final : public Collectable {
 public:
  using Families = decltype(std::declval<const Collectable&>().Collect());
  explicit RegisteredCollector(std::shared_ptr<const MetricsCollector> collector) : collector_(std::move(collector)) {}
  Families Collect() const override {
    Families families;
    for (const MetricFamily& family : collector_->Collect()) {
      families.push_back(ToPrometheus<typename Families::value_type>(family));
    }
    return families;
  }

 private:
  const std::shared_ptr<const MetricsCollector> collector_;
};

}  // namespace internal

/// `Collectable` is prometheus::Collectable. `collector` is not null.
template <typename Collectable>
std::shared_ptr<Collectable> AsCollectable(std::shared_ptr<const MetricsCollector> collector) {
  return std::make_shared<internal::RegisteredCollector<Collectable>>(std::move(collector));
}

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_PROMETHEUS_COLLECTABLE_H_
