// Ports on 127.0.0.1.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_LOOPBACK_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_LOOPBACK_H_

#include <vector>

namespace driverupgrade::e2e {

// `count` different ports that nobody listens on. Another process may take one before it is used.
std::vector<int> FindFreePorts(int count);

// Whether a connection to `port` is accepted.
bool IsListening(int port);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_LOOPBACK_H_
