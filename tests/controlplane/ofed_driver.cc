#include "ofed_driver.h"

#include <algorithm>
#include <chrono>
#include <regex>
#include <stdexcept>

#include "json.h"
#include "support.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kReadyLimit{90};

constexpr std::string_view kPolicy = R"(
apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec:
  ofedDriver:
    image: doca-driver
    upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 2, safeLoad: true, drain: {enable: true, timeoutSeconds: 60}}
)";

constexpr std::string_view kDriver = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: mofed
  namespace: $NS
  labels: {nvidia.com/ofed-driver: "", ds-owner: NicClusterPolicy, mofed-ds-format-version: "1"}
spec:
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: mofed}}
  template:
    metadata: {labels: {app: mofed, nvidia.com/ofed-driver: "", ds-owner: NicClusterPolicy}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {driverupgrade.test/world: $WORLD}
      tolerations: [{operator: Exists}]
      containers: [{name: mofed-container, image: "mofed:1"}]
)";

}  // namespace

OfedDriver::OfedDriver(const World& world) : world_(world) {
  const Kubectl& admin = world.control_plane().admin();
  world.control_plane().InstallPolicies();
  for (const char* file : {"ofed/driver-namespace.yaml", "ofed/operator-namespace.yaml"}) {
    admin.Create(
        std::regex_replace(ReadFile(RbacFolder() / file), std::regex("(metadata: .*namespace: )[a-z-]+"), "$1" + ns()));
  }
  admin.Create(kPolicy);
  const std::string world_label = world.selector().substr(world.selector().find('=') + 1);
  admin.Create(Substitute(std::string(kDriver), {{"$NS", ns()}, {"$WORLD", world_label}}));
  const auto is_ready = [&] {
    return Integer(admin.Get({"daemonset", "mofed", "--namespace=" + ns()}), {"status", "numberReady"}) ==
           static_cast<int>(world.nodes().size());
  };
  if (!Eventually(kReadyLimit, is_ready)) throw std::runtime_error("the OFED driver does not get ready");
}

OfedDriver::~OfedDriver() {
  world_.control_plane().admin().Run({"delete", "nicclusterpolicies,clusterpolicies", "--all"});
}

OperatorProgram OfedDriver::Start(const std::vector<std::string>& more_options) const {
  std::vector<std::string> options = {"--namespace", ns()};
  options.insert(options.end(), more_options.begin(), more_options.end());
  return {world_.control_plane(), "ofed_operator", world_.control_plane().ofed_kubeconfig(), options};
}

void OfedDriver::Change(const std::string& image) const {
  world_.control_plane().admin().Must(
      {"patch", "daemonset", "mofed", "--namespace=" + ns(), "--type=strategic",
       R"(--patch={"spec": {"template": {"spec": {"containers": [{"name": "mofed-container", "image": ")" + image +
           R"("}]}}}})"});
}

int OfedDriver::Count(const std::string& label, const std::string& value) const {
  const auto nodes = world_.Nodes();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const auto& entry) {
    const auto found = entry.second.labels.find(label);
    return found != entry.second.labels.end() && found->second == value;
  }));
}

bool NobodyIsCordoned(const World& world) {
  const auto nodes = world.Nodes();
  return std::none_of(nodes.begin(), nodes.end(), [](const auto& entry) { return entry.second.unschedulable; });
}

}  // namespace driverupgrade::e2e
