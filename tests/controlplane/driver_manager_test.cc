// Tests driver_manager as the init container of a driver pod on a real cluster. A directory of programs that record
// their calls replaces the node's operating system.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "control_plane.h"
#include "json.h"
#include "operator_program.h"
#include "process.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr seconds kRunLimit{90};
constexpr char kPluginLabel[] = "nvidia.com/gpu.deploy.device-plugin";
constexpr char kPlugin[] = "nvidia-device-plugin-daemonset";

constexpr std::string_view kPluginManifest = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-device-plugin-daemonset, namespace: $NS}
spec:
  selector: {matchLabels: {app: nvidia-device-plugin-daemonset}}
  template:
    metadata: {labels: {app: nvidia-device-plugin-daemonset}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {nvidia.com/gpu.deploy.device-plugin: "true", kubernetes.io/hostname: $NODE}
      tolerations: [{operator: Exists}]
      containers: [{name: plugin, image: "plugin:1"}]
)";

std::string FindProgram() {
  std::string program;
#ifdef DRIVERUPGRADE_DRIVER_MANAGER
  program = DRIVERUPGRADE_DRIVER_MANAGER;
#endif
  const char* folder = std::getenv("DRIVERUPGRADE_BIN_DIR");
  if (folder != nullptr && *folder != '\0') program = (fs::path(folder) / "driver_manager").string();
  if (program.empty() || !fs::exists(program)) throw std::runtime_error("no driver_manager: build the examples");
  return program;
}

// The files of a node with a loaded driver.
class NodeFiles {
 public:
  explicit NodeFiles(const fs::path& root) : root_(root) {
    Write("sys/module/nvidia/refcnt", "0\n");
    Write("proc/mounts", "overlay /run/nvidia/driver overlay rw 0 0\n");
    Write("run/nvidia/nvidia-driver.pid", "42");
    Program("rmmod", "rm -r $ROOT/sys/module/$1");
    Program("umount", "");
    Program("chroot", "exit 127");
  }
  const fs::path& root() const { return root_; }
  std::string bin() const { return (root_ / "bin").string(); }
  std::string log() const { return ReadFile(root_ / "log"); }

 private:
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    WriteFile(root_ / path, text);
  }
  void Program(const std::string& name, const std::string& body) const {
    Write("bin/" + name,
          "#!/bin/sh\nROOT=" + root_.string() + "\necho \"" + name + " $*\" >> $ROOT/log\n" + body + "\n");
    fs::permissions(root_ / "bin" / name, fs::perms::owner_all);
  }
  fs::path root_;
};

// A node with a driver, an operand, a job on its GPU, a web server, and the permissions of rbac.yaml.
class ManagedNode {
 public:
  ManagedNode(const std::string& name, int unavailable_max)
      : world_(ControlPlane::Shared(), name, 1),
        node_(world_.nodes().front()),
        folder_(world_.control_plane().folder() / ("driver-manager-" + name)),
        files_(folder_ / "root") {
    admin().Must({"label", "node", node_, std::string(kPluginLabel) + "=true"});
    world_.DeployDriver();
    admin().Create(Substitute(std::string(kPluginManifest), {{"$NS", world_.driver_ns()}, {"$NODE", node_}}));
    Workload training;
    training.name = "training";
    training.unavailable_max = unavailable_max;
    world_.Deploy(training);
    Workload web;
    web.name = "web";
    web.uses_gpu = false;
    world_.Deploy(web);
    if (!Eventually(kRunLimit, [this] { return Plugins().size() == 1; })) throw std::runtime_error("no device plugin");
    GiveRights(name);
  }
  ~ManagedNode() { admin().Run({"delete", "clusterrole,clusterrolebinding", role_, "--ignore-not-found"}); }
  ManagedNode(const ManagedNode&) = delete;
  ManagedNode& operator=(const ManagedNode&) = delete;

  const Kubectl& admin() const { return world_.control_plane().admin(); }
  const World& world() const { return world_; }
  const std::string& name() const { return node_; }
  const std::string& role() const { return role_; }
  const NodeFiles& files() const { return files_; }
  std::set<std::string> Apps(const std::string& app) const { return world_.WorkloadPodsOn(node_, app); }
  NodeVersion Version() const { return world_.Nodes().at(node_); }

  std::set<std::string> Plugins() const {
    std::set<std::string> names;
    const rapidjson::Document list =
        admin().Get({"pods", "--namespace=" + world_.driver_ns(), "--selector=app=" + std::string(kPlugin)});
    for (const rapidjson::Value& pod : Items(list, {"items"})) names.insert(Text(pod, {"metadata", "name"}));
    return names;
  }

  std::unique_ptr<Process> Start(const std::string& timeout = "60s") const {
    ProcessOptions options;
    options.out = folder_ / "log";
    options.environment = {{"NODE_NAME", node_},
                           {"OPERATOR_NAMESPACE", world_.driver_ns()},
                           {"KUBECONFIG", (folder_ / "kubeconfig").string()},
                           {"ENABLE_AUTO_DRAIN", "false"},
                           {"DRAIN_TIMEOUT_SECONDS", timeout},
                           {"PATH", files_.bin() + ":" + std::getenv("PATH")}};
    std::vector<std::string> command = {FindProgram(), "--host-root", files_.root().string()};
    const char* transport = std::getenv("DRIVERUPGRADE_TRANSPORT");
    if (transport != nullptr && *transport != '\0') command.insert(command.end(), {"--transport", transport});
    command.emplace_back("uninstall_driver");
    return std::make_unique<Process>(command, options);
  }
  // Returns the exit code, or -1 if the program does not exit in time.
  int Run(const std::string& timeout = "60s") const { return Start(timeout)->Wait(kRunLimit).value_or(-1); }
  std::string log() const { return ReadFile(folder_ / "log"); }

 private:
  // Grants the permissions of the manifest, in the namespace of this world.
  void GiveRights(const std::string& name) {
    role_ = "nvidia-driver-manager-" + name;
    const fs::path source = RbacFolder().parent_path().parent_path();
    std::string manifest = ReadFile(source / "examples/operators/driver_manager/rbac.yaml");
    manifest = std::regex_replace(manifest, std::regex("namespace: gpu-operator"), "namespace: " + world_.driver_ns());
    manifest = std::regex_replace(manifest, std::regex("nvidia-driver-manager"), role_);
    admin().Create(manifest);
    std::string token = admin().Must({"create", "token", "nvidia-driver", "--namespace=" + world_.driver_ns()});
    token.erase(token.find_last_not_of(" \n") + 1);
    WriteFile(folder_ / "kubeconfig",
              Substitute("apiVersion: v1\n"
                         "kind: Config\n"
                         "current-context: e2e\n"
                         "clusters: [{name: e2e, cluster: {server: \"$URL\", certificate-authority: \"$CA\"}}]\n"
                         "users: [{name: driver, user: {token: \"$TOKEN\"}}]\n"
                         "contexts: [{name: e2e, context: {cluster: e2e, user: driver}}]\n",
                         {{"$URL", world_.control_plane().url()},
                          {"$CA", world_.control_plane().ca_file().string()},
                          {"$TOKEN", token}}));
  }

  World world_;
  std::string node_;
  fs::path folder_;
  NodeFiles files_;
  std::string role_;
};

// Checks that the manager has left no trace on the node, and that the node's pods return.
void CheckGivenBack(const ManagedNode& node, const NodeVersion& before) {
  const NodeVersion after = node.Version();
  CHECK(after.labels == before.labels);
  CHECK(after.annotations == before.annotations);
  CHECK(after.unschedulable == before.unschedulable);
  CHECK(Eventually(kRunLimit, [&] { return node.Plugins().size() == 1; }));
}

TEST_CASE("The init container of a driver pod evacuates the node for the driver", "[driver_manager]") {
  const ManagedNode node("manager", 1);
  const NodeVersion before = node.Version();
  const auto plugins = node.Plugins();
  const auto training = node.Apps("training");
  const auto web = node.Apps("web");

  const int exit_code = node.Run();

  INFO(node.log());
  REQUIRE(exit_code == 0);
  CHECK(node.files().log() == "rmmod nvidia\numount /run/nvidia/driver\n");
  CHECK_FALSE(fs::exists(node.files().root() / "run/nvidia/nvidia-driver.pid"));
  CheckGivenBack(node, before);
  CHECK(node.Plugins() != plugins);
  CHECK(node.Apps("training") != training);
  CHECK(node.Apps("web") == web);

  // A second run finds no loaded driver, and leaves all pods alone.
  const auto now = node.Plugins();
  REQUIRE(node.Run() == 0);
  CHECK(node.Plugins() == now);
}

TEST_CASE("The manager does not force evictions that a disruption budget refuses, and continues after it is killed",
          "[driver_manager]") {
  const ManagedNode node("refused-manager", 0);
  const NodeVersion before = node.Version();
  const auto training = node.Apps("training");

  CHECK(node.Run("3s") == 1);
  {
    INFO(node.log());
    CHECK(node.log().find("refused by disruption budget") != std::string::npos);
    CHECK(node.files().log().empty());
    CheckGivenBack(node, before);
    CHECK(node.Apps("training") == training);
  }

  const std::unique_ptr<Process> killed = node.Start("0s");
  REQUIRE(Eventually(kRunLimit, [&] { return node.Version().unschedulable; }));
  killed->Kill();
  CHECK(node.Version().labels.at(kPluginLabel) == "paused-for-driver-upgrade");
  CHECK(node.Version().unschedulable);

  node.admin().Must({"delete", "pdb", "training", "--namespace=" + node.world().workload_ns()});
  const int exit_code = node.Run();
  INFO(node.log());
  REQUIRE(exit_code == 0);
  CHECK(node.files().log() == "rmmod nvidia\numount /run/nvidia/driver\n");
  CheckGivenBack(node, before);
}

// A ClusterPolicy that is deleted at the end of the test.
struct GpuPolicy {
  explicit GpuPolicy(const ManagedNode& node) : admin(node.admin()) {
    node.world().control_plane().InstallPolicies();
    admin.Create(
        "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cluster-policy}\n"
        "spec: {driver: {upgradePolicy: {autoUpgrade: true, drain: {enable: true}}}}\n");
  }
  ~GpuPolicy() { admin.Run({"delete", "clusterpolicies", "--all"}); }
  GpuPolicy(const GpuPolicy&) = delete;
  GpuPolicy& operator=(const GpuPolicy&) = delete;
  const Kubectl& admin;
};

TEST_CASE("If gpu_operator follows a policy, the manager leaves pods and the cordon to it", "[driver_manager]") {
  constexpr char kEnabled[] = "nvidia.com/gpu-driver-upgrade-enabled";
  const ManagedNode node("policed-manager", 1);
  const World& world = node.world();
  const GpuPolicy policy(node);
  OperatorProgram program(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                          {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-labels", "app=driver",
                           "--validation-selector", ""});
  const bool told = Eventually(kRunLimit, [&] { return node.Version().annotations.count(kEnabled) == 1; });
  INFO(program.Log());
  REQUIRE(told);

  // The operator evacuates the node. Only then does the manager run, as the init container of the new driver pod.
  const auto training = node.Apps("training");
  world.ChangeDriverAndHold("driver:2");
  REQUIRE(Eventually(kRunLimit, [&] { return node.Version().state == "pod-restart-required"; }));
  CHECK(node.Version().unschedulable);
  CHECK(node.Apps("training") != training);
  const int exit_code = node.Run();
  INFO(node.log());
  REQUIRE(exit_code == 0);
  CHECK(node.files().log() == "rmmod nvidia\numount /run/nvidia/driver\n");
  CHECK(node.Version().unschedulable);  // the cordon belongs to the operator
  CHECK(Eventually(kRunLimit, [&] {
    for (const DriverPod& pod : world.DriverPods()) {
      if (pod.is_held) world.Release(world.driver_ns(), pod.name);
    }
    return node.Version().state == "upgrade-done" && !node.Version().unschedulable;
  }));

  policy.admin.Must({"patch", "clusterpolicy", "cluster-policy", "--type=merge",
                     R"(--patch={"spec": {"driver": {"upgradePolicy": {"autoUpgrade": false}}}})"});
  CHECK(Eventually(kRunLimit, [&] { return node.Version().annotations.count(kEnabled) == 0; }));
}

TEST_CASE("An administrator's cordon outlives the manager", "[driver_manager]") {
  const ManagedNode node("cordoned-manager", 1);
  node.world().Cordon(node.name());
  const NodeVersion before = node.Version();

  const int exit_code = node.Run();

  INFO(node.log());
  REQUIRE(exit_code == 0);
  CHECK(node.Version().unschedulable);
  CheckGivenBack(node, before);
}

TEST_CASE("The manager's log names the permission that is missing", "[driver_manager]") {
  const ManagedNode node("powerless-manager", 1);
  const NodeVersion before = node.Version();
  node.admin().Must({"delete", "clusterrole", node.role()});
  REQUIRE(Eventually(kRunLimit, [&] { return node.Run() == 1 && node.log().find("403") != std::string::npos; }));
  INFO(node.log());
  CHECK(node.log().find("get") != std::string::npos);
  CHECK(node.log().find("nodes") != std::string::npos);
  CHECK(node.files().log().find("rmmod") == std::string::npos);
  CheckGivenBack(node, before);
}

}  // namespace
}  // namespace driverupgrade::e2e
