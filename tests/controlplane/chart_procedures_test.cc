// Tests the chart upgrades of docs/manual-procedures.md with the helm program and a repository. The charts imitate the
// operators' charts: each has a CustomResourceDefinition, an object of that kind, and a subchart of another operator.
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "json.h"
#include "loopback.h"
#include "manual.h"
#include "process.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

namespace fs = std::filesystem;

constexpr char kPage[] = "manual-procedures.md";
constexpr char kKinds[] = "nicthings.charts.example.com";

// Returns a CustomResourceDefinition with the fields of `schema`. The API server drops all other fields from its
// objects.
std::string Definition(const std::string& kind, const std::string& schema) {
  const std::string plural = kind + "s";
  return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural +
         ".charts.example.com}\nspec:\n  group: charts.example.com\n  scope: Cluster\n  names: {kind: " + kind +
         ", plural: " + plural + "}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: " +
         "{openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + schema + "}}}}}\n";
}

class Charts {
 public:
  Charts(const World& world, const Manual& manual, fs::path helm)
      : world_(world), manual_(manual), helm_(std::move(helm)), folder_(manual.folder() / "repository") {
    fs::create_directories(folder_);
    WriteFile(manual.folder() / "helm",
              "#!/bin/sh\nHOME='" + manual.folder().string() + "' exec '" + helm_.string() + "' --kubeconfig='" +
                  (world.control_plane().folder() / "admin.kubeconfig").string() + "' \"$@\"\n");
    fs::permissions(manual.folder() / "helm", fs::perms::owner_all);
  }

  // Adds a chart to the repository. If `with_policy` is true, the chart's CRD and custom resource contain the field
  // upgradePolicy.
  void Add(const std::string& name, const std::string& version, bool with_policy) const {
    const fs::path chart = manual_.folder() / "source" / version / name;
    const std::string schema =
        std::string("version: {type: string}") + (with_policy ? ", upgradePolicy: {type: string}" : "");
    const std::string policy = with_policy ? ", upgradePolicy: \"{{ .Values.policy }}\"" : "";
    for (const char* folder : {"crds", "templates", "charts/sriov-network-operator/crds"}) {
      fs::create_directories(chart / folder);
    }
    WriteFile(chart / "Chart.yaml", "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n");
    WriteFile(chart / "crds/things.yaml", Definition("nicthing", schema));
    WriteFile(chart / "templates/thing.yaml", "apiVersion: charts.example.com/v1\nkind: nicthing\nmetadata: {name: " +
                                                  name + "}\nspec: {version: \"" + version + "\"" + policy + "}\n");
    const fs::path below = chart / "charts/sriov-network-operator";
    WriteFile(below / "Chart.yaml", "apiVersion: v2\nname: sriov-network-operator\nversion: " + version + "\n");
    WriteFile(below / "crds/others.yaml", Definition("sriovthing", schema));
    Helm({"package", chart.string(), "--destination=" + folder_.string()});
  }

  // Serves the repository under the name `nvidia`.
  void Serve() {
    const std::string port = std::to_string(FindFreePorts(1).front());
    const std::string url = "http://127.0.0.1:" + port;
    Helm({"repo", "index", folder_.string(), "--url=" + url});
    ProcessOptions options;
    options.out = manual_.folder() / "repository.log";
    server_ = std::make_unique<Process>(std::vector<std::string>{"python3", "-m", "http.server", port, "--bind",
                                                                 "127.0.0.1", "--directory", folder_.string()},
                                        options);
    REQUIRE(Eventually(kStepLimit, [&] { return IsListening(std::stoi(port)); }));
    Helm({"repo", "add", "nvidia", url});
  }

  void Helm(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), (manual_.folder() / "helm").string());
    ProcessOptions options;
    options.out = manual_.folder() / "helm.log";
    Process process(arguments, options);
    const auto exit_code = process.Wait(std::chrono::minutes(1));
    INFO(ReadFile(options.out));
    REQUIRE(exit_code == 0);
  }

  // Returns `version policy` from the chart's object.
  std::string Object(const std::string& name) const {
    const rapidjson::Document object = admin().Get({kKinds, name});
    return Text(object, {"spec", "version"}) + " " + Text(object, {"spec", "upgradePolicy"});
  }
  const Kubectl& admin() const { return world_.control_plane().admin(); }

 private:
  const World& world_;
  const Manual& manual_;
  const fs::path helm_;
  const fs::path folder_;
  std::unique_ptr<Process> server_;
};

fs::path FindHelm() { return RbacFolder().parent_path().parent_path() / "build/tools/helm"; }

TEST_CASE("Charts are upgraded after their definitions, and to a beta version only with --devel", "[helm]") {
  if (!fs::exists(FindHelm())) {
    WARN("skipped: there is no " << FindHelm() << "; scripts/deploy-tools.sh builds it");
    return;
  }
  World world(ControlPlane::Shared(), "charts", 1);
  const Manual manual(world, kPage);
  Charts charts(world, manual, FindHelm());
  for (const char* name : {"network-operator", "gpu-operator"}) {
    charts.Add(name, "1.0.0", false);
    charts.Add(name, "2.0.0", true);
  }
  charts.Add("network-operator", "2.1.0-beta.1", true);
  charts.Serve();
  const std::string ns = "--namespace=nvidia-network-operator";
  charts.Helm({"install", "network-operator", "nvidia/network-operator", "--version=1.0.0", ns, "--create-namespace",
               "--set=policy=one"});
  charts.Helm({"install", "gpu-operator", "nvidia/gpu-operator", "--version=1.0.0", "--namespace=" + world.driver_ns(),
               "--set=policy=gpu"});
  CHECK(charts.Object("network-operator") == "1.0.0 ");

  WriteFile(manual.folder() / "values-2.0.0.yaml", "policy: two\n");
  charts.admin().Must(
      {"patch", kKinds, "network-operator", "--type=merge", R"(--patch={"spec":{"version":"edited"}})"});
  const Manual::Words words = {{"CHART", "nvidia/network-operator"}, {"VERSION", "2.0.0"}};
  manual.Run("network-chart", words);
  CHECK(charts.Object("network-operator") == "2.0.0 two");  // the old definition would drop the field
  CHECK(charts.admin().Must({"get", "crd", "sriovthings.charts.example.com", "--output=yaml"}).find("upgradePolicy") !=
        std::string::npos);
  charts.Helm({"upgrade", "network-operator", "nvidia/network-operator", ns, "--reuse-values"});
  CHECK(charts.Object("network-operator") == "2.0.0 two");
  manual.Run("network-chart-beta", words);
  CHECK(charts.Object("network-operator") == "2.1.0-beta.1 two");

  manual.Run("gpu-chart", {{"CHART", "nvidia/gpu-operator"}, {"VERSION", "2.0.0"}});
  CHECK(charts.Object("gpu-operator") == "2.0.0 gpu");
  charts.Helm({"uninstall", "network-operator", ns});
  charts.Helm({"uninstall", "gpu-operator", "--namespace=" + world.driver_ns()});
  charts.admin().Must({"delete", "crd", kKinds, "sriovthings.charts.example.com"});
  // The next test creates this namespace again. The API server refuses this until the old namespace is deleted.
  charts.admin().Must({"delete", "namespace", "nvidia-network-operator"});
}

}  // namespace
}  // namespace driverupgrade::e2e
