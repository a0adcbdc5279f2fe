#include "devices.h"

#include <chrono>

#include "json.h"
#include "support.h"
#include "support/catch.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::string_view kClass = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-device, namespace: $NS}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
)";

constexpr std::string_view kSlice = R"(
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: $NODE}
spec:
  driver: gpu.nvidia.com
  nodeName: $NODE
  pool: {name: $NODE, generation: 1, resourceSliceCount: 1}
  devices: [$DEVICES]
)";

constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: $POD, namespace: $NS}
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: $NODE}
  resourceClaims: [$POD_CLAIMS]
  containers: [{name: work, image: "work:1", resources: {claims: [$CLAIMS]}}]
)";

constexpr std::string_view kRule = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: $NODE}
spec:
  deviceSelector: {driver: gpu.nvidia.com, pool: $NODE}
  taint: {key: driverupgrade.test/upgrade, value: "true", effect: $EFFECT}
)";

}  // namespace

std::unique_ptr<Devices> Devices::Make(const World& world, int per_node) {
  if (world.control_plane().Serves(kDeviceTaintRules)) return std::unique_ptr<Devices>(new Devices(world, per_node));
  WARN("skipped: Kubernetes 1." << world.control_plane().MinorVersion() << " does not serve " << kDeviceTaintRules);
  return nullptr;
}

Devices::Devices(const World& world, int per_node) : world_(world) {
  std::string devices;
  for (int i = 0; i < per_node; ++i) devices += (i > 0 ? ", " : "") + ("{name: gpu-" + std::to_string(i) + "}");
  std::string manifest = Substitute(std::string(kClass), {{"$NS", world.workload_ns()}});
  for (const std::string& node : world.nodes()) {
    manifest += Substitute(std::string(kSlice), {{"$NODE", node}, {"$DEVICES", devices}});
  }
  admin().Create(manifest);
}

Devices::~Devices() {
  for (const char* kind : {"devicetaintrules", "resourceslices", "deviceclasses"}) {
    admin().Run({"delete", "--raw", std::string("/apis/resource.k8s.io/v1/") + kind});
  }
}

void Devices::DeployHolder(const std::string& pod, const std::string& node) const { CreatePod(pod, node, true); }

void Devices::DeployPod(const std::string& pod, const std::string& node) const { CreatePod(pod, node, false); }

void Devices::CreatePod(const std::string& pod, const std::string& node, bool holds_device) const {
  admin().Create(Substitute(std::string(kPod),
                            {{"$POD_CLAIMS", holds_device ? "{name: gpu, resourceClaimTemplateName: one-device}" : ""},
                             {"$CLAIMS", holds_device ? "{name: gpu}" : ""},
                             {"$POD", pod},
                             {"$NODE", node},
                             {"$NS", world_.workload_ns()}}));
}

void Devices::Taint(const std::string& node, const std::string& effect) const {
  admin().Create(Substitute(std::string(kRule), {{"$NODE", node}, {"$EFFECT", effect}}));
}

void Devices::Untaint(const std::string& node) const { admin().Must({"delete", kDeviceTaintRules, node}); }

bool Devices::BecomesReady(const std::string& pod) const { return EventuallyHas(pod, "Ready", "True", ""); }

// Until the controller has created the pod's claim, the scheduler rejects the pod for another reason: the claim is
// missing.
bool Devices::IsRefused(const std::string& pod) const {
  return EventuallyHas(pod, "PodScheduled", "False", "cannot allocate all claims");
}

bool Devices::EventuallyHas(const std::string& pod, std::string_view type, std::string_view status,
                            std::string_view message) const {
  return Eventually(std::chrono::seconds(20), [&] {
    const rapidjson::Document object = admin().Get({"pod", pod, "--namespace=" + world_.workload_ns()});
    for (const rapidjson::Value& condition : Items(object, {"status", "conditions"})) {
      if (Text(condition, {"type"}) != type) continue;
      return Text(condition, {"status"}) == status && Text(condition, {"message"}).find(message) != std::string::npos;
    }
    return false;
  });
}

}  // namespace driverupgrade::e2e
