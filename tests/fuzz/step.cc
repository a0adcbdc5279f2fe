// Replaces labels and annotations of a random cluster with values from the input. The plan must satisfy its invariants,
// and a second call must return the same plan.
#include <array>
#include <memory>

#include "driverupgrade/driver_identity.h"
#include "fuzz/fuzz.h"
#include "property/plan_invariants.h"
#include "property/random_cluster.h"

namespace driverupgrade::tests {
namespace {

std::array<std::string, 14> Keys(const DriverIdentity& identity) {
  return {identity.StateLabel(),
          identity.SkipUpgradeLabel(),
          identity.StageAnnotation(),
          identity.FailuresAnnotation(),
          identity.FailureCauseAnnotation(),
          identity.WaitingForAnnotation(),
          identity.FailedRevisionAnnotation(),
          identity.RestartPodAnnotation(),
          identity.RestartOnlyAnnotation(),
          identity.RequestorModeAnnotation(),
          identity.UpgradeRequestedAnnotation(),
          identity.SafeLoadAnnotation(),
          identity.ValidationStartAnnotation(),
          std::string(kCordonedByAnnotation)};
}

// Reads replacements. Each consists of a node, a key, and a value that extends to the end of the line.
void Replace(Bytes& bytes, RandomCluster& cluster) {
  const auto keys = Keys(cluster.machine.identity());
  while (!bytes.empty() && !cluster.snapshot.nodes.empty()) {
    auto& shared = cluster.snapshot.nodes[bytes.Below(static_cast<int>(cluster.snapshot.nodes.size()))];
    NodeView view = *shared;
    const int key = bytes.Below(static_cast<int>(keys.size()));
    auto& values = key < 2 ? view.node.labels : view.node.annotations;
    values[keys[key]] = std::string(bytes.Line());
    shared = std::make_shared<const NodeView>(std::move(view));
  }
}

}  // namespace
}  // namespace driverupgrade::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  Bytes bytes(data, size);
  RandomCluster cluster = MakeRandomCluster(bytes.Number(4));
  Replace(bytes, cluster);
  const Plan plan = cluster.Step();
  Require(plan == cluster.Step(), "a second call gives the same plan");
  Require(Describe(plan) == Describe(cluster.Step()), "and the same description");
  const std::string broken = BrokenInvariant(cluster, plan);
  Require(broken.empty(), broken);
  return 0;
}
