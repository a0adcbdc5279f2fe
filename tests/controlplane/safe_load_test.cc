// Tests safe_load_init as a process with the permissions of its rbac.yaml: alone, during an outage, and together with
// gpu_operator.
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu_operator.h"
#include "json.h"
#include "service_account.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

using std::chrono::seconds;

constexpr char kNs[] = "nvidia-network-operator";
constexpr char kKey[] = "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load";
constexpr seconds kLimit{60};

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 2
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

// Creates the ConfigMap of examples/operators/safe_load_init/daemonset.yaml, and the permission to read it.
void Install(const ControlPlane& control_plane, const std::string& enable = "true") {
  const Kubectl& admin = control_plane.admin();
  if (admin.Run({"get", "namespace", kNs}).exit_code != 0) admin.Must({"create", "namespace", kNs});
  ApplyRights(control_plane, ExampleFolder("safe_load_init") / "rbac.yaml");
  admin.Run({"delete", "configmap", "ofed-init-container-config", std::string("--namespace=") + kNs});
  admin.Create(Substitute(R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: ofed-init-container-config, namespace: nvidia-network-operator}
data:
  config.json: '{"safeDriverLoad": {"enable": $ENABLE, "annotation": "$KEY"}}'
)",
                          {{"$ENABLE", enable}, {"$KEY", kKey}}));
}

class InitContainer {
 public:
  InitContainer(const ControlPlane& control_plane, const std::string& node) {
    std::vector<std::string> command = ExampleCommand("safe_load_init");
    command.insert(command.end(),
                   {"--kubeconfig", KubeconfigOf(control_plane, kNs, "ofed-driver").string(), "--node-name", node,
                    "--configmap-namespace", kNs, "--configmap-name", "ofed-init-container-config"});
    static int count = 0;
    ProcessOptions options;
    options.out = control_plane.folder() / ("safe-load-" + std::to_string(++count) + ".log");
    out_ = options.out;
    process_ = std::make_unique<Process>(command, options);
  }
  Process& process() { return *process_; }
  std::string output() const { return ReadFile(out_); }
  bool AwaitLine(const std::string& text) const {
    return Eventually(kLimit, [&] { return output().find(text) != std::string::npos; });
  }

 private:
  std::filesystem::path out_;
  std::unique_ptr<Process> process_;
};

std::string Annotation(const World& world, const std::string& node) {
  const rapidjson::Document object = world.control_plane().admin().Get({"node", node});
  return Text(object, {"metadata", "annotations", kKey});
}

void RemoveAnnotation(const World& world, const std::string& node) {
  world.control_plane().admin().Must({"annotate", "node", node, std::string(kKey) + "-"});
}

constexpr char kWaits[] = "waiting until the node is evacuated";

TEST_CASE("A driver waits until its node's annotation is removed", "[safe_load]") {
  World world(ControlPlane::Shared(), "safe", 2);
  Install(world.control_plane());
  const std::string& node = world.nodes().front();
  InitContainer waiting(world.control_plane(), node);
  REQUIRE(waiting.AwaitLine(kWaits));
  CHECK(Annotation(world, node) == "true");
  CHECK(Annotation(world, world.nodes().back()).empty());
  CHECK(waiting.process().IsRunning());
  RemoveAnnotation(world, node);
  CHECK(waiting.process().Wait(kLimit) == 0);
  INFO(waiting.output());
  CHECK(Annotation(world, node).empty());

  // A new pod waits again, and an empty annotation counts as a missing one.
  InitContainer again(world.control_plane(), node);
  REQUIRE(again.AwaitLine(kWaits));
  CHECK(Annotation(world, node) == "true");
  world.control_plane().admin().Must({"annotate", "node", node, "--overwrite", std::string(kKey) + "="});
  CHECK(again.process().Wait(kLimit) == 0);
}

TEST_CASE("If safe loading is off, the init container exits immediately", "[safe_load]") {
  World world(ControlPlane::Shared(), "off", 1);
  Install(world.control_plane(), "false");
  InitContainer init(world.control_plane(), world.nodes().front());
  CHECK(init.process().Wait(kLimit) == 0);
  CHECK(Annotation(world, world.nodes().front()).empty());
}

TEST_CASE(
    "A driver is not loaded if the init container is misconfigured, is stopped or has no permissions, or if its node "
    "does not exist",
    "[safe_load]") {
  World world(ControlPlane::Shared(), "unsafe", 1);
  const ControlPlane& control_plane = world.control_plane();
  Install(control_plane, "7");
  InitContainer wrong(control_plane, world.nodes().front());
  CHECK(wrong.process().Wait(kLimit) == 2);
  CHECK(wrong.output().find("config map nvidia-network-operator/ofed-init-container-config: config.json: "
                            "safeDriverLoad.enable: not a boolean") != std::string::npos);

  Install(control_plane);
  InitContainer nowhere(control_plane, "no-such-node");
  CHECK(nowhere.process().Wait(kLimit) == 4);

  InitContainer stopped(control_plane, world.nodes().front());
  REQUIRE(stopped.AwaitLine(kWaits));
  kill(stopped.process().pid(), SIGTERM);
  CHECK(stopped.process().Wait(kLimit) == 1);
  CHECK(Annotation(world, world.nodes().front()) == "true");

  InitContainer gone(control_plane, world.nodes().front());
  REQUIRE(gone.AwaitLine(kWaits));
  control_plane.admin().Must({"delete", "node", world.nodes().front()});
  CHECK(gone.process().Wait(kLimit) == 4);

  control_plane.admin().Must({"delete", "clusterrolebinding", "safe-load-init"});
  InitContainer forbidden(control_plane, world.nodes().front());
  CHECK(forbidden.process().Wait(kLimit) == 3);
  CHECK(forbidden.output().find("forbidden") != std::string::npos);
}

TEST_CASE("A temporary outage of the API server does not end the wait", "[safe_load]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "safeaway", 1);
  Install(control_plane);
  const std::string& node = world.nodes().front();
  InitContainer waiting(control_plane, node);
  REQUIRE(waiting.AwaitLine(kWaits));
  control_plane.KillApiServer();
  REQUIRE(waiting.AwaitLine("the cluster does not respond"));
  CHECK(waiting.process().IsRunning());
  control_plane.StartApiServerAgain();
  REQUIRE(waiting.AwaitLine("the cluster responds again"));
  CHECK(waiting.process().IsRunning());
  CHECK(Annotation(world, node) == "true");
  RemoveAnnotation(world, node);
  CHECK(waiting.process().Wait(kLimit) == 0);
}

TEST_CASE("An upgrade evacuates the node of a waiting driver, and then allows the driver to load", "[safe_load]") {
  World world(ControlPlane::Shared(), "both", 4);
  DeployAll(world, 2);
  Install(world.control_plane());
  AuditLog audit(world.control_plane().audit_log());
  const std::string& node = world.nodes().front();
  const std::set<std::string> pods_before = world.WorkloadPodsOn(node, "work");
  REQUIRE_FALSE(pods_before.empty());
  InitContainer waiting(world.control_plane(), node);
  REQUIRE(waiting.AwaitLine(kWaits));

  const OperatorResult upgraded = GpuOperator(world, kPolicy).Run();
  INFO(upgraded.output());
  CHECK(upgraded.exit_code == 0);
  CHECK(waiting.process().Wait(kLimit) == 0);
  INFO(waiting.output());
  CHECK(Annotation(world, node).empty());
  // The node was evacuated before the driver was released: none of its earlier pods is left, and the node was cordoned
  // first.
  const std::set<std::string> pods_after = world.WorkloadPods();
  for (const std::string& pod : pods_before) CHECK_FALSE(pods_after.contains(pod));
  const auto released = FindRequest(audit, [&](const AuditedRequest& request) {
    return request.name == node && request.node.has_value() && !request.node->state.empty() &&
           request.node->annotations.count(kKey) == 0;
  });
  ExpectInOrder(FindEntry(audit, node, "pod-deletion-required"), released);
  for (const std::string& pod : pods_before) {
    const auto eviction = FindWrite(audit, "create", "pods/eviction", pod);
    ExpectInOrder(FindEntry(audit, node, "pod-deletion-required"), eviction);
    ExpectInOrder(eviction, released);
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
