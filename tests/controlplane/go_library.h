// What the Go library needs of a cluster beside what an operator of ours does.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_

#include "control_plane.h"

namespace driverupgrade::e2e {

// Gives the user `operator` the rights that the Go library takes: it reads nodes and DaemonSets one by one, and writes whole
// objects. Granted already: nothing.
void GrantGoLibrary(const ControlPlane& control_plane);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_LIBRARY_H_
