// Tests that helm installs, upgrades and removes the charts of deploy/helm.
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "control_plane.h"
#include "process.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

namespace fs = std::filesystem;

struct Chart {
  std::string folder;
  std::string ns;
  std::string name;
};

// Runs a helm command with the administrator's permissions. The command must succeed.
void Helm(const fs::path& helm, const ControlPlane& control_plane, std::vector<std::string> arguments) {
  const fs::path log = control_plane.folder() / "helm.log";
  arguments.insert(arguments.begin(), helm.string());
  arguments.push_back("--kubeconfig=" + (control_plane.folder() / "admin.kubeconfig").string());
  ProcessOptions options;
  options.out = log;
  options.environment = {{"HOME", control_plane.folder().string()}};
  Process process(arguments, options);
  const std::optional<int> exit_code = process.Wait(std::chrono::minutes(1));
  INFO(ReadFile(log));
  REQUIRE(exit_code == 0);
}

bool IsAvailable(const Kubectl& admin, const Chart& chart, const std::string& image) {
  return admin
             .Run({"get", "deployment", chart.name, "--namespace=" + chart.ns, "--output",
                   "jsonpath={.spec.template.spec.containers[0].image} {.status.updatedReplicas} "
                   "{.status.availableReplicas} {.status.replicas}"})
             .out == image + " 2 2 2";
}

// Removes the cluster-wide permissions of the other tests, because the charts use the same names. The destructor
// restores them.
class SharedRightsAway {
 public:
  explicit SharedRightsAway(const Kubectl& admin) : admin_(admin) { admin_.Must(Command("delete")); }
  ~SharedRightsAway() { admin_.Run(Command("create")); }
  SharedRightsAway(const SharedRightsAway&) = delete;
  SharedRightsAway& operator=(const SharedRightsAway&) = delete;

 private:
  static Kubectl::Arguments Command(const std::string& verb) {
    Kubectl::Arguments arguments = {verb};
    for (const char* file : {"base/cluster.yaml", "base/default-namespace.yaml", "cluster-policy/cluster-policies.yaml",
                             "ofed/cluster.yaml", "ofed/default-namespace.yaml"}) {
      arguments.push_back("--filename=" + (RbacFolder() / file).string());
    }
    return arguments;
  }

  const Kubectl& admin_;
};

TEST_CASE("The charts are installed, upgraded and removed by helm, and the namespace stays", "[helm]") {
  const fs::path deploy = RbacFolder().parent_path();
  const fs::path helm = deploy.parent_path() / "build/tools/helm";
  if (!fs::exists(helm)) {
    WARN("skipped: there is no " << helm << "; scripts/deploy-tools.sh builds it");
    return;
  }
  World world(ControlPlane::Shared(), "helm", 2);
  const Kubectl& admin = world.control_plane().admin();
  const SharedRightsAway away(admin);
  for (const Chart& chart : {Chart{"gpu", "gpu-operator", "driver-upgrade"},
                             Chart{"ofed", "nvidia-network-operator", "ofed-driver-upgrade"}}) {
    INFO(chart.folder);
    const std::string ns = "--namespace=" + chart.ns;
    const std::string source = (deploy / "helm" / chart.folder).string();
    const std::string account = "--as=system:serviceaccount:" + chart.ns + ":" + chart.name;
    Helm(helm, world.control_plane(),
         {"install", "it", source, ns, "--create-namespace", "--set=image.repository=ours", "--set=image.tag=1"});
    CHECK(Eventually(kStepLimit, [&] { return IsAvailable(admin, chart, "ours:1"); }));
    CHECK(admin.Run({"auth", "can-i", "patch", "nodes", account}).exit_code == 0);

    Helm(helm, world.control_plane(), {"upgrade", "it", source, ns, "--reuse-values", "--set=image.tag=2"});
    CHECK(Eventually(kStepLimit, [&] { return IsAvailable(admin, chart, "ours:2"); }));

    Helm(helm, world.control_plane(), {"uninstall", "it", ns});
    CHECK(admin.Run({"get", "deployment", chart.name, ns}).exit_code != 0);
    CHECK(admin.Run({"auth", "can-i", "patch", "nodes", account}).exit_code != 0);
    CHECK(admin.Run({"get", "namespace", chart.ns}).exit_code == 0);
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
