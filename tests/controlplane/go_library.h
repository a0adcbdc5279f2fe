// Permissions that the Go library needs in addition to those of our operators.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_

#include "control_plane.h"

namespace driverupgrade::e2e {

// Gives the user `operator` the permissions that the Go library needs, because it reads single nodes and DaemonSets,
// and writes whole objects. Does nothing if they were granted before.
void GrantGoLibrary(const ControlPlane& control_plane);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_
