// Reads the page that Prometheus scrapes.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_METRICS_PAGE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_METRICS_PAGE_H_

#include <string>

#include "control_plane.h"

namespace driverupgrade::e2e {

// Returns the page /metrics at `port` of this machine. `promtool check metrics` must accept the page without warnings.
// If promtool is missing (scripts/install-deps.sh installs it), prints a warning and skips this check.
std::string CheckedMetrics(const ControlPlane& control_plane, int port);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_METRICS_PAGE_H_
