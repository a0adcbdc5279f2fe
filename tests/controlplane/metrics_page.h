// What Prometheus scrapes.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_METRICS_PAGE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_METRICS_PAGE_H_

#include <string>

#include "control_plane.h"

namespace driverupgrade::e2e {

// The page /metrics at that port of this machine, about which `promtool check metrics` has nothing to say; without
// promtool, which scripts/install-deps.sh installs, that is not asked, with a warning.
std::string CheckedMetrics(const ControlPlane& control_plane, int port);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_METRICS_PAGE_H_
