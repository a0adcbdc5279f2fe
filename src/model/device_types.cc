#include "driverupgrade/device_types.h"

namespace driverupgrade {

std::string_view ToString(DeviceTaintEffect effect) {
  switch (effect) {
    case DeviceTaintEffect::kNone: return "None";
    case DeviceTaintEffect::kNoSchedule: return "NoSchedule";
    case DeviceTaintEffect::kNoExecute: return "NoExecute";
  }
  return "unknown";
}

}  // namespace driverupgrade
