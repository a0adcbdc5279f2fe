// Tests how upgradectl finds a driver if the command line does not specify its location.
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "upgradectl/options.h"
#include "upgradectl/usual_driver.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using driverupgrade::DaemonSet;

DaemonSet Set(const std::string& ns, const std::string& app) {
  return {
      .ns = ns, .name = app, .uid = app, .labels = {{"app", app}, {"app.kubernetes.io/component", "nvidia-driver"}}};
}

// A healthy node on OpenShift.
const std::string kOpenShift = R"({"kind":"List","items":[
{"kind":"Node","apiVersion":"v1","metadata":{"name":"w0","uid":"w0","resourceVersion":"1","labels":{"nvidia.com/gpu-driver-upgrade-state":"upgrade-done"}}},
{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"namespace":"nvidia-gpu-operator","name":"nvidia-driver-daemonset-9.6","uid":"ds","generation":1,
"labels":{"app":"nvidia-driver-daemonset-9.6","app.kubernetes.io/component":"nvidia-driver"}},"spec":{"selector":{},"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":1}},
{"kind":"ControllerRevision","apiVersion":"apps/v1","revision":1,"metadata":{"namespace":"nvidia-gpu-operator","name":"r","labels":{"controller-revision-hash":"new"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"nvidia-driver-daemonset-9.6","uid":"ds","controller":true}]}},
{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"nvidia-gpu-operator","name":"driver-w0","uid":"p",
"labels":{"app":"nvidia-driver-daemonset-9.6","app.kubernetes.io/component":"nvidia-driver","controller-revision-hash":"new"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"nvidia-driver-daemonset-9.6","uid":"ds","controller":true}]},
"spec":{"nodeName":"w0"},"status":{"phase":"Running","containerStatuses":[{"name":"c","ready":true}]}}]})";

TEST_CASE("A driver with another namespace and labels, as on OpenShift, is found in a dump and on a server (W25)") {
  const ScratchFile dump(kOpenShift);
  const Answer of_dump = RunWith({"status", "--cluster", dump.path()});
  CHECK(of_dump.exit_code == kExitDone);
  CHECK(of_dump.out.find("1 of 1 done") != std::string::npos);
  CHECK(of_dump.out.find("DriverPodMissing") == std::string::npos);
  const auto server = std::make_shared<DumpServer>(kOpenShift);
  const Answer live = RunIn({"status", "--kubeconfig", "any"}, {.server = server});
  CHECK(live.exit_code == kExitDone);
  CHECK(live.out.find("1 of 1 done") != std::string::npos);
}

TEST_CASE("Printed commands contain the location of the driver that upgradectl has found (W25)") {
  const ScratchFile dump(kOpenShift);
  const std::string out = RunWith({"explain", "w0", "--cluster", dump.path()}).out;
  CHECK(out.find("driver-w0: revision new, ready") != std::string::npos);
}

TEST_CASE("Precompiled drivers for several kernels are found by the label that they share (W25)") {
  Options options;
  Locate({Set("gpu-operator", "nvidia-driver-daemonset-5.15"), Set("gpu-operator", "nvidia-driver-daemonset-6.8")},
         options);
  CHECK(options.driver_labels == "app.kubernetes.io/component=nvidia-driver");
  CHECK_FALSE(options.ns);
}

TEST_CASE("The default location is used if the driver is there, or if the command line names another driver (W25)") {
  Options usual;
  Locate({Set("gpu-operator", "nvidia-driver-daemonset"), Set("other", "nvidia-driver-daemonset")}, usual);
  CHECK_FALSE(usual.ns);
  CHECK_FALSE(usual.driver_labels);
  Options named{.ns = "gpu-operator", .driver_labels = "app=mine"};
  Locate({Set("other", "nvidia-driver-daemonset-9.6")}, named);
  CHECK(named.ns == "gpu-operator");
  CHECK(named.driver_labels == "app=mine");
}

TEST_CASE("If the server refuses to list all DaemonSets, the default location is used (W25)") {
  const auto server = std::make_shared<DumpServer>(kOpenShift);
  server->Forbid("/apis/apps/v1/daemonsets");
  const Answer answer = RunIn({"status", "--kubeconfig", "any"}, {.server = server});
  CHECK(answer.exit_code != kExitUsage);
}

}  // namespace
}  // namespace upgradectl
