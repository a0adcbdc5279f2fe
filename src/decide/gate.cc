#include "driverupgrade/gate.h"

namespace driverupgrade::inline v1 {

std::string_view ToString(GateReason reason) { return TraitsOf(reason).name; }

}  // namespace driverupgrade::inline v1
