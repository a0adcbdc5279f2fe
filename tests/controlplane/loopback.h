// Finds and checks ports on 127.0.0.1.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_LOOPBACK_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_LOOPBACK_H_

#include <vector>

namespace driverupgrade::e2e {

// Returns `count` different ports that are free. Another process can take such a port before the caller uses it.
std::vector<int> FindFreePorts(int count);

// Returns whether `port` accepts a connection.
bool IsListening(int port);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_LOOPBACK_H_
