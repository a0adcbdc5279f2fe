// Checks the limits that deploy/rbac/admission sets on the operator's writes to nodes, which RBAC permits without
// restriction.
#include <chrono>
#include <string>
#include <vector>

#include "control_plane.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

struct Patch {
  std::string name;
  std::string body;
};

KubectlResult Send(const Kubectl& kubectl, const std::string& node, const std::string& body) {
  return kubectl.Run({"patch", "node", node, "--type=merge", "--patch=" + body});
}

TEST_CASE("The operator can change only its own keys and the cordon of a node", "[admission][short]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "admission", 1);
  LetKubectlWork(control_plane);
  const std::string& node = world.nodes()[0];
  const Kubectl& kubectl = control_plane.as_operator();
  control_plane.admin().Must({"label", "node", node, "somebody=else"});
  control_plane.admin().Must({"annotate", "node", node, "somebody=else"});

  const std::vector<Patch> refused = {
      {"another label", R"({"metadata": {"labels": {"another": "label"}}})"},
      {"the skip label", R"({"metadata": {"labels": {"nvidia.com/gpu-driver-upgrade.skip": "true"}}})"},
      {"another's label changed", R"({"metadata": {"labels": {"somebody": "us"}}})"},
      {"another's label removed", R"({"metadata": {"labels": {"somebody": null}}})"},
      {"another annotation", R"({"metadata": {"annotations": {"another": "annotation"}}})"},
      {"another's annotation removed", R"({"metadata": {"annotations": {"somebody": null}}})"},
      {"a taint", R"({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})"},
      {"a taint beside the cordon",
       R"({"spec": {"unschedulable": true, "taints": [{"key": "a", "effect": "NoExecute"}]}})"},
      {"a taint of its key that keeps pods away",
       R"({"spec": {"taints": [{"key": "nvidia.com/gpu-driver-upgrade", "effect": "NoSchedule"}]}})"},
      {"the provider", R"({"spec": {"providerID": "other://node"}})"},
      {"a finalizer", R"({"metadata": {"finalizers": ["example.com/ours"]}})"},
  };
  // The API server takes a moment before it enforces a new policy.
  const auto binds = [&] {
    return Send(kubectl, node, refused.front().body).err.find("only its own labels") != std::string::npos;
  };
  REQUIRE(Eventually(std::chrono::seconds(30), binds));
  control_plane.admin().Run({"label", "node", node, "another-"});
  for (const Patch& patch : refused) {
    const KubectlResult result = Send(kubectl, node, patch.body);
    INFO(patch.name << ": " << result.out << result.err);
    CHECK(result.exit_code != 0);
    CHECK(result.err.find("driver-upgrade-nodes") != std::string::npos);
  }

  const std::vector<Patch> allowed = {
      {"the state", R"({"metadata": {"labels": {"nvidia.com/gpu-driver-upgrade-state": "cordon-required"}}})"},
      // The taint patches come before the cordon. After a cordon, the node lifecycle controller adds a taint, which the
      // taint patches would remove.
      {"its own taint", R"({"spec": {"taints": [{"key": "nvidia.com/gpu-driver-upgrade", "value": "pending",
          "effect": "PreferNoSchedule"}]}})"},
      {"no taint any longer", R"({"spec": {"taints": null}})"},
      {"annotations of its own", R"({"metadata": {"annotations": {"nvidia.com/gpu-driver-upgrade.stage": "a@1@b",
          "driverupgrade/cordoned-by": "nvidia.com/gpu"}}, "spec": {"unschedulable": true}})"},
      {"all of it back", R"({"metadata": {"labels": {"nvidia.com/gpu-driver-upgrade-state": null},
          "annotations": {"nvidia.com/gpu-driver-upgrade.stage": null, "driverupgrade/cordoned-by": null}},
          "spec": {"unschedulable": null}})"},
  };
  for (const Patch& patch : allowed) {
    const KubectlResult result = Send(kubectl, node, patch.body);
    INFO(patch.name << ": " << result.out << result.err);
    CHECK(result.exit_code == 0);
  }
  // The policy does not apply to other users.
  for (const Patch& patch : {refused[2], refused[3]}) {
    CHECK(Send(control_plane.admin(), node, patch.body).exit_code == 0);
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
