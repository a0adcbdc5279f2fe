// Prints the metrics of a rollout that has not started.
#include <iostream>

#include "driverupgrade/prometheus/metrics_collector.h"

int main() {
  const auto identity = driverupgrade::DriverIdentity::Create("nvidia.com", "gpu");
  if (!identity.ok()) return 1;
  const driverupgrade::MetricsObserver metrics(*identity);
  std::cout << driverupgrade::MetricsCollector({[&] { return metrics.Snapshot(); }}).Text();
}
