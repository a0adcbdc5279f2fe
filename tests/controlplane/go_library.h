// Permissions that the Go library needs in addition to our operators' permissions.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_

#include "control_plane.h"

namespace driverupgrade::e2e {

// Grants the user `operator` the permissions that the Go library needs, because the library reads single nodes and
// DaemonSets and writes whole objects. Does nothing if the permissions have been granted before.
void GrantGoLibrary(const ControlPlane& control_plane);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_
