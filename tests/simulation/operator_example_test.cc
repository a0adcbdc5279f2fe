// What docs/testing-your-operator.md shows: an operator's own options and hooks, a fault, and the invariants.
#include <memory>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "driverupgrade/upgrade_engine.h"
#include "support/catch.h"

namespace {

using namespace driverupgrade;           // NOLINT: an example
using namespace driverupgrade::testing;  // NOLINT: an example

// The operator's: which pods use the driver.
absl::StatusOr<bool> UsesGpu(const CallContext&, const Pod& pod) {
  for (const std::string& resource : pod.resource_names) {
    if (resource.starts_with("nvidia.com/gpu")) return true;
  }
  return false;
}

TEST_CASE("An operator keeps every invariant when the answer to a cordon is lost and the operator is killed") {
  auto clock = std::make_shared<FakeClock>();
  auto cluster = std::make_shared<FakeCluster>(clock);
  const Fleet fleet = AddFleet(*cluster, {.node_count = 3});
  const LabelSelector driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
  const DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "gpu");
  const UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}};

  InvariantChecker checker(cluster, {.identity = identity,
                                     .driver_ns = fleet.ns,
                                     .driver_labels = driver_labels,
                                     .policy = policy,
                                     .uses_driver = UsesGpu});
  const auto make_engine = [&] {
    EngineOptions options{.snapshot = {.ns = fleet.ns, .driver_labels = driver_labels, .uses_driver = UsesGpu},
                          .clock = clock,
                          .observer = checker.MakeObserver()};
    options.executor.calls_in_flight = 1;  // everything in this thread
    return *UpgradeEngine::Create(identity, checker.Guard("operator"), options);
  };

  auto engine = make_engine();
  cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  cluster->FailNextAfterApplying(Operation::kPatchNode, absl::UnavailableError("504 gateway timeout"));
  for (int i = 0; i < 300; ++i) {
    REQUIRE(engine->Reconcile({}, policy).ok());
    REQUIRE(checker.Report() == "");
    if (i == 5) engine = make_engine();  // killed, and started again
    cluster->Advance(absl::Seconds(2));
  }
  CHECK(checker.upgrades() == 3);
  for (const Pod& pod : cluster->daemon_set_pods(fleet.ns, fleet.daemon_set)) CHECK(RevisionHash(pod) == "rev-2");
}

}  // namespace
