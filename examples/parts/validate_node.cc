// Validates a new driver on one node with a pod of another DaemonSet that tests the driver.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "driverupgrade/label_selector.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/validation_manager.h"

using namespace driverupgrade;

namespace {

std::optional<absl::Time> DriverReadySince(const std::vector<Pod>& pods) {
  const LabelSelector driver = *LabelSelector::Parse("app=driver");
  for (const Pod& pod : pods) {
    if (driver.Matches(pod.labels)) return pod.ready_since;
  }
  return std::nullopt;
}

// Returns the reason why the node has not passed, or an empty string. Deletes pods that tested only the old driver.
absl::StatusOr<std::string> Validate(ClusterFacade& cluster, const ValidationManager& validation,
                                     const std::string& node) {
  const auto pods = cluster.ListPods({}, {.node_name = node});
  if (!pods.ok()) return pods.status();
  const Validation result = validation.Evaluate(*pods, DriverReadySince(*pods));
  for (const Pod* pod : result.early) {
    if (absl::Status deleted = cluster.DeletePod({}, {.pod = pod->ref}); !deleted.ok()) return deleted;
  }
  return result.missing;
}

}  // namespace

int main() {
  testing::FakeCluster cluster(std::make_shared<testing::FakeClock>());
  cluster.AddNode(testing::NodeBuilder("fpga-1").Build());
  cluster.AddDaemonSet({.ns = "fpga", .name = "driver", .started = false});
  cluster.AddDaemonSet({.ns = "fpga", .name = "validator", .started = false});
  cluster.Advance(absl::Seconds(10));
  cluster.RemovePod("fpga", cluster.daemon_set_pods("fpga", "driver")[0].ref.name);  // its DaemonSet replaces it
  cluster.Advance(absl::Seconds(10));

  const ValidationManager validation(*LabelSelector::Parse("app=validator"));
  for (std::string last = "-"; !last.empty(); cluster.Advance(absl::Seconds(1))) {
    const auto missing = Validate(cluster, validation, "fpga-1");
    if (!missing.ok()) return 1;
    if (*missing != last) std::printf("%s\n", missing->empty() ? "validated" : missing->c_str());
    last = *missing;
  }
}
