// Tests openshift_preflight as a process on a real API server that has OpenShift's kinds, with the permissions of its
// rbac.yaml. Simulated nodes serve no logs; tests/examples/operators/openshift_preflight tests the checks of log
// contents.
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "json.h"
#include "service_account.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr char kNs[] = "nvidia-gpu-operator";
constexpr std::chrono::seconds kLimit{60};

std::filesystem::path FixtureFolder() {
  return RbacFolder().parent_path().parent_path() / "tests/controlplane/openshift";
}

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

Outcome Preflight(const ControlPlane& control_plane, const std::vector<std::string>& options = {}) {
  std::vector<std::string> command = ExampleCommand("openshift_preflight");
  command.insert(command.end(), {"--kubeconfig", KubeconfigOf(control_plane, kNs, "openshift-preflight").string()});
  command.insert(command.end(), options.begin(), options.end());
  ProcessOptions process_options;
  process_options.out = control_plane.folder() / "openshift-preflight.out";
  process_options.err = control_plane.folder() / "openshift-preflight.err";
  Process process(command, process_options);
  Outcome outcome;
  outcome.exit_code = process.Wait(kLimit).value_or(-1);
  outcome.out = ReadFile(process_options.out);
  outcome.err = ReadFile(process_options.err);
  return outcome;
}

// Returns the IDs of findings that are more severe than `info`.
std::set<std::string> Ids(const Outcome& outcome) {
  std::set<std::string> ids;
  const rapidjson::Document report = ParseJson(outcome.out, "the report");
  for (const rapidjson::Value& finding : Items(report, {"findings"})) {
    if (Text(finding, {"severity"}) != "info") ids.insert(Text(finding, {"id"}));
  }
  return ids;
}

std::set<std::string> Look(const ControlPlane& control_plane, int exit_code) {
  const Outcome outcome = Preflight(control_plane, {"-o", "json"});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.exit_code == exit_code);
  return Ids(outcome);
}

void InstallRights(const ControlPlane& control_plane) {
  for (const char* ns : {kNs, "openshift"}) {
    if (control_plane.admin().Run({"get", "namespace", ns}).exit_code != 0) {
      control_plane.admin().Must({"create", "namespace", ns});
    }
  }
  ApplyRights(control_plane, ExampleFolder("openshift_preflight") / "rbac.yaml");
}

void InstallKinds(ControlPlane& control_plane) {
  control_plane.InstallPolicies();
  const Kubectl& admin = control_plane.admin();
  admin.Must({"apply", "--validate=false", "-f", (FixtureFolder() / "crds.yaml").string()});
  for (const char* kind : {"clusterversions.config.openshift.io", "imagestreams.image.openshift.io",
                           "configs.imageregistry.operator.openshift.io"}) {
    INFO(kind);
    REQUIRE(Eventually(kLimit, [&] { return admin.Run({"get", kind, "--all-namespaces"}).exit_code == 0; }));
  }
}

// Patches an object, as an administrator would with oc.
void Patch(const ControlPlane& control_plane, std::vector<std::string> what, const std::string& patch) {
  what.insert(what.begin(), "patch");
  what.insert(what.end(), {"--type", "merge", "--patch", patch});
  control_plane.admin().Must(what);
}

const std::vector<std::string> kRegistry = {"configs.imageregistry.operator.openshift.io", "cluster"};
const std::vector<std::string> kVersion = {"clusterversions.config.openshift.io", "version"};

// Must run first, because the other test installs OpenShift's kinds in the shared API server.
TEST_CASE("A cluster that is not OpenShift is reported as such", "[openshift]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  InstallRights(control_plane);
  const Outcome outcome = Preflight(control_plane);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("info not-openshift: this is not an OpenShift cluster") == 0);
}

TEST_CASE("OpenShift 4.9.8 is repaired by the commands in the findings", "[openshift]") {
  World world(ControlPlane::Shared(), "ocp", 1);
  ControlPlane& control_plane = world.control_plane();
  const Kubectl& admin = control_plane.admin();
  InstallRights(control_plane);
  InstallKinds(control_plane);
  admin.Must({"create", "--validate=false", "-f", (FixtureFolder() / "cluster-4.9.8.yaml").string()});

  using Set = std::set<std::string>;
  CHECK(Look(control_plane, 1).contains("no-nfd"));
  admin.Must({"label", "node", world.nodes().front(), "feature.node.kubernetes.io/pci-10de.present=true"});
  CHECK(Look(control_plane, 1) ==
        Set{"broken-toolkit-version", "empty-imagestream-tag", "entitlement", "misplaced-toolkit-option"});
  const Outcome text = Preflight(control_plane);
  CHECK(text.exit_code == 1);
  CHECK(text.out.find("oc delete -n openshift is/driver-toolkit\n") != std::string::npos);
  CHECK(text.out.find("OpenShift 4.9.8: ") != std::string::npos);

  admin.Must({"delete", "-n", "openshift", "is/driver-toolkit"});
  CHECK(Look(control_plane, 1).contains("no-imagestream"));
  admin.Create(R"(
apiVersion: image.openshift.io/v1
kind: ImageStream
metadata: {name: driver-toolkit, namespace: openshift}
spec: {tags: [{name: 410.84.202203290245-0}, {name: latest}]}
)");
  Patch(control_plane, {"clusterpolicies.nvidia.com", "gpu-cluster-policy"},
        R"({"spec":{"driver":{"use_ocp_driver_toolkit":null}}})");
  Patch(control_plane, kVersion,
        R"({"status":{"history":[{"state":"Completed","version":"4.9.9"}],"desired":{"version":"4.9.9"}}})");
  CHECK(Look(control_plane, 0).empty());

  // From 4.15 on, openshift_preflight checks the registry.
  Patch(control_plane, kVersion,
        R"({"status":{"history":[{"state":"Completed","version":"4.15.3"}],"desired":{"version":"4.15.3"}}})");
  CHECK(Look(control_plane, 1) == Set{"registry-storage", "registry-not-managed", "no-builder-secret"});
  Patch(control_plane, kRegistry, R"({"spec":{"storage":{"emptyDir":{}}}})");
  CHECK(Look(control_plane, 1) == Set{"registry-not-managed", "no-builder-secret"});
  Patch(control_plane, kRegistry, R"({"spec":{"managementState":"Managed"}})");
  CHECK(Look(control_plane, 1) == Set{"no-builder-secret"});
  admin.Create(R"(
apiVersion: v1
kind: ServiceAccount
metadata: {name: builder, namespace: nvidia-gpu-operator}
secrets: [{name: builder-dockercfg-rnt7v}]
)");
  CHECK(Look(control_plane, 0).empty());

  // A node whose RHCOS version is missing from the image stream, and a driver pod whose log is not available.
  const std::string& node = world.nodes().front();
  admin.Must(
      {"patch", "node", node, "--subresource=status", "--type=merge", "--patch",
       R"json({"status":{"nodeInfo":{"osImage":"Red Hat Enterprise Linux CoreOS 415.92.202402201450-0 (Plow)"}}})json"});
  admin.Create(Substitute(R"(
apiVersion: v1
kind: Pod
metadata: {name: nvidia-driver, namespace: nvidia-gpu-operator, labels: {openshift.driver-toolkit: "true"}}
spec:
  nodeName: $NODE
  containers: [{name: nvidia-driver-ctr, image: x}, {name: openshift-driver-toolkit-ctr, image: x}]
)",
                          {{"$NODE", node}}));
  std::set<std::string> ids;
  CHECK(Eventually(kLimit, [&] {
    ids = Look(control_plane, 1);
    return ids.contains("log-unread");
  }));
  CHECK(ids.contains("no-toolkit-for-node"));
  admin.Must({"delete", "pod", "nvidia-driver", std::string("--namespace=") + kNs, "--force", "--grace-period=0"});

  // Without permissions, openshift_preflight lists the objects that it cannot read.
  admin.Must({"delete", "role", "openshift-preflight", "--namespace=openshift"});
  const Outcome refused = Preflight(control_plane);
  INFO(refused.err);
  CHECK(refused.exit_code == 3);
  CHECK(refused.err.find("imagestreams openshift/driver-toolkit") != std::string::npos);
  CHECK(refused.err.find("forbidden") != std::string::npos);
}

}  // namespace
}  // namespace driverupgrade::e2e
