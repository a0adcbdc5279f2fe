// Checks every commit of a FakeCluster in which the driver gpu/driver is upgraded. The number of upgrades in progress
// must not exceed the limit (I1). No driver pod may be deleted while a workload runs (I2), and no administrator's
// cordon may be lifted (I3). No node may start before the first stage of a rollout allows its start (I20). A Witness
// also works for engines with several threads, because the cluster reports commits one at a time.
#ifndef DRIVERUPGRADE_TESTS_CRASH_WITNESS_H_
#define DRIVERUPGRADE_TESTS_CRASH_WITNESS_H_

#include <map>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::tests {

UpgradeState StateOf(const Node& node);
bool IsDriver(const Pod& pod);

class Witness {
 public:
  // `canary` is the only node of the first stage, which has the soak time `soak` and needs an approval; empty if there
  // are no stages. If `isolates_devices` is true, only pods that claim a device must leave, and all other pods stay.
  explicit Witness(int max_parallel, std::string canary = {}, absl::Duration soak = absl::ZeroDuration(),
                   bool isolates_devices = false)
      : max_parallel_(max_parallel), canary_(std::move(canary)), soak_(soak), isolates_devices_(isolates_devices) {}

  void Watch(const testing::Change& change);
  // Returns the first violation; empty if there is no violation.
  const std::string& broken() const { return broken_; }

 private:
  void WatchNode(const testing::Change& change);
  void WatchPod(const testing::Change& change);
  // Returns whether the pod must leave its node before the driver is replaced.
  bool MustGo(const Pod& pod) const;

  const int max_parallel_;
  const std::string canary_;
  const absl::Duration soak_;
  const bool isolates_devices_;
  absl::Time done_at_ = absl::InfiniteFuture();  // time at which the canary was done
  bool approved_ = false;
  std::map<std::string, Node> nodes_;
  std::map<std::string, std::string> workloads_;
  std::string broken_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_CRASH_WITNESS_H_
