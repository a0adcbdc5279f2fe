// Looks at every commit of a FakeCluster in which the driver gpu/driver is upgraded: at most so many upgrades under way
// (I1), no driver pod deleted beside a workload (I2), no administrator's cordon lifted (I3). For engines with threads, too:
// the cluster tells of one commit after the other.
#ifndef DRIVERUPGRADE_TESTS_CRASH_WITNESS_H_
#define DRIVERUPGRADE_TESTS_CRASH_WITNESS_H_

#include <map>
#include <string>

#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::tests {

UpgradeState StateOf(const Node& node);
bool IsDriver(const Pod& pod);

class Witness {
 public:
  explicit Witness(int max_parallel) : max_parallel_(max_parallel) {}

  void Watch(const testing::Change& change);
  // Empty: nothing.
  const std::string& broken() const { return broken_; }

 private:
  void WatchNode(const testing::Change& change);
  void WatchPod(const testing::Change& change);

  const int max_parallel_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, std::string> workloads_;
  std::string broken_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_CRASH_WITNESS_H_
