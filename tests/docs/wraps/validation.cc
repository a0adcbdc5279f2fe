// docs/write-your-operator.md
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/validation_manager.h"

using namespace driverupgrade;

struct ServiceOptions {
  EngineOptions engine = {};
};

void AddValidation(ServiceOptions& options) {
  // BLOCK
}
