#include "driverupgrade/observer.h"

namespace driverupgrade::inline v1 {

Observer::~Observer() = default;
void Observer::OnPlan(const Plan& /*plan*/) {}
void Observer::OnNodeApplied(const NodePlan& /*plan*/, const NodeOutcome& /*outcome*/) {}

}  // namespace driverupgrade::inline v1
