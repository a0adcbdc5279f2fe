// Detects when one attempt to upgrade a node ends and another starts (I13).
#ifndef DRIVERUPGRADE_SRC_TESTING_INVARIANTS_TRIES_H_
#define DRIVERUPGRADE_SRC_TESTING_INVARIANTS_TRIES_H_

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "testing/invariants/node_truth.h"

namespace driverupgrade::testing::internal {

struct TryChange {
  const Node& before;
  const Node& after;
  bool by_engine = false;
  // True if the driver has received a new pod template since the attempt started.
  bool is_new_template = false;
};
bool BeginsAnotherTry(const TryChange& change, const Keys& keys, const DriverIdentity& identity);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_INVARIANTS_TRIES_H_
