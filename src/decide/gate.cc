#include "driverupgrade/gate.h"

namespace driverupgrade {

std::string_view ToString(GateReason reason) { return TraitsOf(reason).name; }

}  // namespace driverupgrade
