#include "driverupgrade/validation_manager.h"

#include "fmt/format.h"

namespace driverupgrade {

Validation ValidationManager::Evaluate(const std::vector<Pod>& pods) const {
  int found = 0;
  std::string missing;
  for (const Pod& pod : pods) {
    if (!selector_.Matches(pod.labels)) continue;
    ++found;
    if (!IsReady(pod) && missing.empty()) {
      missing = fmt::format("validation pod {} is not ready", pod.ref.ToString());
    }
  }
  if (found == 0) missing = fmt::format("no pod matches {} on the node", selector_.ToString());
  return {.passed = missing.empty(), .missing = missing};
}

}  // namespace driverupgrade
