// docs/testing-your-operator.md
#include <iostream>

#include "driverupgrade/testing/simulation.h"

using namespace driverupgrade::testing;

void Test() {
  // BLOCK
}
