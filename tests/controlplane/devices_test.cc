// Checks the Kubernetes behavior on which device upgrades rely: how tainted devices affect pods.
#include "devices.h"

#include <memory>
#include <string>

#include "control_plane.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

TEST_CASE("Tainted devices get no new pods, and pods without a device start as before", "[devices]") {
  World world(ControlPlane::Shared(), "devices", 2);
  const std::unique_ptr<Devices> devices = Devices::Make(world, 8);
  if (!devices) return;
  const std::string& node = world.nodes()[0];
  devices->DeployHolder("holder", node);
  REQUIRE(devices->BecomesReady("holder"));

  devices->Taint(node, "NoSchedule");
  devices->DeployHolder("late", node);
  devices->DeployPod("cpu", node);
  devices->DeployHolder("elsewhere", world.nodes()[1]);
  CHECK(devices->IsRefused("late"));
  CHECK(devices->BecomesReady("cpu"));
  CHECK(devices->BecomesReady("elsewhere"));
  CHECK(devices->BecomesReady("holder"));
  CHECK_FALSE(world.Nodes().at(node).unschedulable);

  devices->Untaint(node);
  CHECK(devices->BecomesReady("late"));
}

TEST_CASE("Device taint rules are served from Kubernetes 1.37 on", "[fixture][short]") {
  const ControlPlane& control_plane = ControlPlane::Shared();
  CHECK(control_plane.Serves(kDeviceTaintRules) == (control_plane.MinorVersion() >= 37));
}

}  // namespace
}  // namespace driverupgrade::e2e
