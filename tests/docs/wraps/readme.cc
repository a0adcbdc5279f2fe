// README.md
#include "driverupgrade/kubernetes/cpprest_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/upgrade_engine.h"

using namespace driverupgrade;

absl::Status Pass() {
  // BLOCK
  return pass.status();
}
