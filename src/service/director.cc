#include "driverupgrade/service/director.h"

#include <utility>

namespace driverupgrade {

EngineOptions EngineOptionsOf(EngineOptions common, const EngineSpec& spec) {
  common.snapshot.driver_labels = spec.driver_labels;
  common.snapshot.node_selector = spec.node_selector;
  if (auto& requestor = common.state_machine.requestor) requestor->id += spec.requestor_suffix;
  if (common.ledger) common.ledger->owner = spec.name;
  return common;
}

}  // namespace driverupgrade
