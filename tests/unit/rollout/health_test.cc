#include "decide/rollout/health.h"

#include <string>

#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

Pod Dcgm(bool ready) {
  return {.ref = {.ns = "monitoring", .name = "dcgm-1"},
          .labels = {{"app", "dcgm"}},
          .phase = PodPhase::kRunning,
          .container_statuses = {{.name = "dcgm", .ready = ready}}};
}

Pod Driver(int restarts) {
  return {.ref = {.ns = "gpu", .name = "driver-1"},
          .init_container_statuses = {{.name = "manager", .restart_count = 1}},
          .container_statuses = {{.name = "driver", .ready = true, .restart_count = restarts}}};
}

RolloutHealth Dcgm() { return {.pod_selector = LabelSelector::Parse("app=dcgm").value()}; }

TEST_CASE("a node is sick if one of the conditions has exactly the listed status") {
  const RolloutHealth health{
      .node_conditions = {{.type = "GpuHealthy", .status = "False"}, {.type = "XidError", .status = "True"}}};
  CHECK(HealthOf({}, {}, {}, health) == NodeHealth{});
  CHECK(HealthOf({{"GpuHealthy", "True"}, {"XidError", "False"}}, {}, {}, health) == NodeHealth{});
  CHECK(HealthOf({{"GpuHealthy", "Unknown"}}, {}, {}, health) == NodeHealth{});
  CHECK(HealthOf({{"Other", "True"}, {"XidError", "True"}}, {}, {}, health) ==
        NodeHealth{.sick = "condition XidError is True"});
}

TEST_CASE("a driver with more restarts than allowed makes its node sick") {
  const RolloutHealth health{.max_driver_restarts = 2};
  CHECK(HealthOf({}, {}, {Driver(2)}, health) == NodeHealth{});
  CHECK(HealthOf({}, {}, {Driver(3)}, health).sick ==
        "container driver of driver pod gpu/driver-1 has been restarted 3 times (limit 2)");
  CHECK(HealthOf({}, {}, {Driver(0)}, {.max_driver_restarts = 0}).sick.find("container manager") == 0);
  CHECK(HealthOf({}, {}, {Driver(99)}, {}) == NodeHealth{});
}

TEST_CASE("a node is healthy only if a selected pod exists and all selected pods are ready") {
  CHECK(HealthOf({}, {Dcgm(true)}, {}, Dcgm()) == NodeHealth{});
  CHECK(HealthOf({}, {}, {}, Dcgm()) == NodeHealth{.unwell = "no pod matches app=dcgm"});
  CHECK(HealthOf({}, {Dcgm(true), Dcgm(false)}, {}, Dcgm()) ==
        NodeHealth{.unwell = "pod monitoring/dcgm-1 is not ready"});
  Pod other = Dcgm(false);
  other.labels = {{"app", "web"}};
  CHECK(HealthOf({}, {other, Dcgm(true)}, {}, Dcgm()) == NodeHealth{});
  Pod going = Dcgm(false);
  going.deletion_timestamp = absl::UnixEpoch();
  CHECK(HealthOf({}, {going, Dcgm(true)}, {}, Dcgm()) == NodeHealth{});
}

}  // namespace
}  // namespace driverupgrade::internal
