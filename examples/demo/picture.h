// Prints the demo's output in the format of `upgradectl status` and `upgradectl timeline`.
#ifndef DRIVERUPGRADE_EXAMPLES_DEMO_PICTURE_H_
#define DRIVERUPGRADE_EXAMPLES_DEMO_PICTURE_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_policy.h"
#include "upgradectl/request.h"
#include "upgradectl/status.h"
#include "upgradectl/table.h"

namespace demo {

/// Returns the data that upgradectl would read from the cluster at the cluster's current time.
[[nodiscard]] absl::StatusOr<upgradectl::Request> ReadCluster(driverupgrade::testing::FakeCluster& cluster,
                                                              const driverupgrade::DriverIdentity& identity,
                                                              const driverupgrade::SnapshotOptions& snapshot,
                                                              const driverupgrade::UpgradePolicy& policy);

class Picture {
 public:
  explicit Picture(const upgradectl::Screen& screen) : screen_(screen) {}
  /// On a terminal, replaces the previous status; otherwise prints a line for each node that has changed.
  void Show(const upgradectl::RolloutStatus& status, absl::Duration elapsed);

 private:
  void Draw(const upgradectl::RolloutStatus& status);
  void PrintChanges(const upgradectl::RolloutStatus& status, absl::Duration elapsed);

  const upgradectl::Screen screen_;
  std::size_t lines_drawn_ = 0;
  std::map<std::string, std::string> shown_;
};

}  // namespace demo

#endif  // DRIVERUPGRADE_EXAMPLES_DEMO_PICTURE_H_
