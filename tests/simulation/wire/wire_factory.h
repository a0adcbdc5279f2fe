// Creates the real client on top of an in-memory API server, for simulations.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WIRE_WIRE_FACTORY_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WIRE_WIRE_FACTORY_H_

#include "simulation/wire/wire_seam.h"

namespace driverupgrade::tests {

testing::WireFactory MakeWireFactory();

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_WIRE_FACTORY_H_
