// Creates replicas that are hosts of the C interface (tests/c/engine_host.h) and send their requests as bytes.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_HOST_HOST_FACTORY_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_HOST_HOST_FACTORY_H_

#include "simulation/host_seam.h"

namespace driverupgrade::tests {

testing::HostFactory MakeHostFactory();

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_HOST_HOST_FACTORY_H_
