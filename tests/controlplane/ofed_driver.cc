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

constexpr std::string_view kNodePolicy = R"(
apiVersion: mellanox.com/v1alpha1
kind: NicNodePolicy
metadata: {name: rack-$RACK}
spec:
  nodeSelector: {rack: $RACK}
  ofedDriver: {upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 1}}
)";

constexpr std::string_view kDriver = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: $NAME
  namespace: $NS
  labels: {nvidia.com/ofed-driver: "", ds-owner: $OWNER, mofed-ds-format-version: "1"}
spec:
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: $NAME}}
  template:
    metadata: {labels: {app: $NAME, nvidia.com/ofed-driver: "", ds-owner: $OWNER}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {$NODE_LABEL}
      tolerations: [{operator: Exists}]
      containers: [{name: mofed-container, image: "mofed:1"}]
)";

}  // namespace

OfedDriver::OfedDriver(const World& world) : world_(world) {
  Prepare();
  world.control_plane().admin().Create(kPolicy);
  std::string label = world.selector();
  Deploy("mofed", "NicClusterPolicy", label.replace(label.find('='), 1, ": "));
}

OfedDriver::OfedDriver(const World& world, const std::vector<std::string>& racks) : world_(world) {
  Prepare();
  for (const std::string& rack : racks) {
    world.control_plane().admin().Create(Substitute(std::string(kNodePolicy), {{"$RACK", rack}}));
    Deploy("mofed-" + rack, "nnp-rack-" + rack, "rack: " + rack);
  }
}

void OfedDriver::Prepare() const {
  world_.control_plane().InstallPolicies();
  for (const char* file : {"ofed/driver-namespace.yaml", "ofed/operator-namespace.yaml"}) {
    world_.control_plane().admin().Create(
        std::regex_replace(ReadFile(RbacFolder() / file), std::regex("(metadata: .*namespace: )[a-z-]+"), "$1" + ns()));
  }
}

void OfedDriver::Deploy(const std::string& name, const std::string& owner, const std::string& node_label) const {
  const Kubectl& admin = world_.control_plane().admin();
  admin.Create(Substitute(std::string(kDriver),
                          {{"$NS", ns()}, {"$NAME", name}, {"$OWNER", owner}, {"$NODE_LABEL", node_label}}));
  const auto is_ready = [&] {
    const rapidjson::Document daemon_set = admin.Get({"daemonset", name, "--namespace=" + ns()});
    const auto ready = Integer(daemon_set, {"status", "numberReady"});
    return ready > 0 && ready == Integer(daemon_set, {"status", "desiredNumberScheduled"});
  };
  if (!Eventually(kReadyLimit, is_ready)) throw std::runtime_error("the OFED driver does not become ready");
}

OfedDriver::~OfedDriver() {
  world_.control_plane().admin().Run({"delete", "nicnodepolicies,nicclusterpolicies,clusterpolicies", "--all"});
}

OperatorProgram OfedDriver::Start(const std::vector<std::string>& more_options) const {
  std::vector<std::string> options = {"--namespace", ns()};
  options.insert(options.end(), more_options.begin(), more_options.end());
  return {world_.control_plane(), "ofed_operator", world_.control_plane().ofed_kubeconfig(), options};
}

void OfedDriver::Change(const std::string& image, const std::string& daemon_set) const {
  world_.control_plane().admin().Must(
      {"patch", "daemonset", daemon_set, "--namespace=" + ns(), "--type=strategic",
       R"(--patch={"spec": {"template": {"spec": {"containers": [{"name": "mofed-container", "image": ")" + image +
           R"("}]}}}})"});
}

void OfedDriver::ChangeAndHold(const std::string& image) const {
  world_.control_plane().admin().Must(
      {"patch", "daemonset", "mofed", "--namespace=" + ns(), "--type=strategic",
       R"(--patch={"spec": {"template": {"metadata": {"annotations": {")" + std::string(kHold) +
           R"(": "true"}}, "spec": {"containers": [{"name": "mofed-container", "image": ")" + image + R"("}]}}}})"});
}

// Ignores errors of kubectl, because a pod that has been deleted in the meantime need not be released.
void OfedDriver::ReleasePods() const {
  world_.control_plane().admin().Run(
      {"annotate", "pods", "--selector=app=mofed", "--namespace=" + ns(), std::string(kHold) + "-"});
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
