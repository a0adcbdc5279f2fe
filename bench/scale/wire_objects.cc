#include "scale/wire_objects.h"

#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace driverupgrade::bench {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kDigest = "sha256:4b1c0f5d7a3e9268b1c0f5d7a3e92684b1c0f5d7a3e92684b1c0f5d7a3e92684";

// Formats the pairs as `"key":"value",...`
std::string Members(const Pairs& pairs) {
  std::vector<std::string> members;
  for (const auto& [key, value] : pairs) members.push_back(fmt::format(R"("{}":"{}")", key, value));
  return fmt::format("{}", fmt::join(members, ","));
}

// Formats the keys in the style of managedFields: `"f:key":{},...`
std::string Fields(const Pairs& pairs) {
  std::vector<std::string> members;
  for (const auto& [key, value] : pairs) members.push_back(fmt::format(R"("f:{}":{{}})", key));
  return fmt::format("{}", fmt::join(members, ","));
}

std::string Managed(std::string_view manager, std::string_view subresource, std::string_view fields) {
  return fmt::format(R"({{"manager":"{}","operation":"Update","apiVersion":"v1","time":"2026-03-14T09:26:53Z",)"
                     R"("fieldsType":"FieldsV1","fieldsV1":{{{}}}{}}})",
                     manager, fields, subresource.empty() ? "" : fmt::format(R"(,"subresource":"{}")", subresource));
}

// Labels set by kubelet, node feature discovery and GPU feature discovery.
Pairs NodeLabels() {
  Pairs labels = {{"beta.kubernetes.io/arch", "amd64"},
                  {"beta.kubernetes.io/os", "linux"},
                  {"kubernetes.io/arch", "amd64"},
                  {"kubernetes.io/os", "linux"},
                  {"node.kubernetes.io/instance-type", "p5.48xlarge"},
                  {"topology.kubernetes.io/region", "eu-central-1"},
                  {"topology.kubernetes.io/zone", "eu-central-1b"},
                  {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
                  {"nvidia.com/gpu.count", "8"},
                  {"nvidia.com/gpu.memory", "81559"},
                  {"nvidia.com/gpu-driver-upgrade-state", "upgrade-done"}};
  for (const char* feature : {"ADX", "AESNI", "AMXBF16", "AMXINT8", "AMXTILE", "AVX", "AVX2", "AVX512BF16", "AVX512BW",
                              "AVX512CD", "AVX512DQ", "AVX512F", "AVX512VL", "AVX512VNNI", "FMA3", "SHA", "VAES"}) {
    labels.emplace_back(fmt::format("feature.node.kubernetes.io/cpu-cpuid.{}", feature), "true");
  }
  for (const char* component : {"container-toolkit", "dcgm", "dcgm-exporter", "device-plugin", "driver",
                                "gpu-feature-discovery", "mig-manager", "node-status-exporter", "operator-validator"}) {
    labels.emplace_back(fmt::format("nvidia.com/gpu.deploy.{}", component), "true");
  }
  return labels;
}

std::string Conditions(const std::vector<std::pair<const char*, const char*>>& conditions) {
  std::vector<std::string> texts;
  for (const auto& [type, status] : conditions) {
    texts.push_back(fmt::format(R"({{"type":"{0}","status":"{1}","lastHeartbeatTime":"2026-03-14T09:26:53Z",)"
                                R"("lastTransitionTime":"2026-02-11T21:04:18Z","reason":"KubeletReports{0}",)"
                                R"("message":"kubelet reports that {0} is {1}"}})",
                                type, status));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string Images(int count) {
  std::vector<std::string> images;
  for (int i = 0; i < count; ++i) {
    images.push_back(fmt::format(
        R"({{"names":["registry.example.com/team/image-{0}@{1}","registry.example.com/team/image-{0}:v1.{0}.0"],)"
        R"("sizeBytes":{2}}})",
        i, kDigest, 190'000'000 + i));
  }
  return fmt::format("{}", fmt::join(images, ","));
}

// The parts that are the same in all node objects.
struct NodeParts {
  std::string labels = Members(NodeLabels());
  std::string managed = fmt::format(
      "{},{},{}",
      Managed("nfd-master", "",
              fmt::format(R"("f:metadata":{{"f:annotations":{{"f:nfd.node.kubernetes.io/feature-labels":{{}}}},)"
                          R"("f:labels":{{{}}}}})",
                          Fields(NodeLabels()))),
      Managed("gpu-operator", "", R"("f:metadata":{"f:labels":{"f:nvidia.com/gpu-driver-upgrade-state":{}}})"),
      Managed(
          "kubelet", "status",
          R"("f:status":{"f:allocatable":{"f:cpu":{},"f:memory":{},"f:nvidia.com/gpu":{}},"f:capacity":{"f:cpu":{},)"
          R"("f:memory":{},"f:nvidia.com/gpu":{}},"f:conditions":{"k:{\"type\":\"Ready\"}":)"
          R"({"f:lastHeartbeatTime":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{}}},)"
          R"("f:images":{}})"));
  std::string conditions =
      Conditions({{"MemoryPressure", "False"}, {"DiskPressure", "False"}, {"PIDPressure", "False"}, {"Ready", "True"}});
  std::string images = Images(15);
};

// The parts that are the same in all pod objects.
struct PodParts {
  std::string environment = [] {
    std::vector<std::string> variables;
    for (int i = 0; i < 30; ++i) {
      variables.push_back(fmt::format(
          R"({{"name":"TRAINER_SETTING_{}","value":"some-value-of-some-length-{}.example.com:8080"}})", i, i));
    }
    return fmt::format("{}", fmt::join(variables, ","));
  }();
  std::string managed = [] {
    std::string variables;
    for (int i = 0; i < 30; ++i) {
      variables +=
          fmt::format(R"(,"k:{{\"name\":\"TRAINER_SETTING_{}\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}})", i);
    }
    return fmt::format(
        "{},{}",
        Managed("kube-controller-manager", "",
                fmt::format(R"("f:metadata":{{"f:generateName":{{}},"f:labels":{{"f:app":{{}}}}}},"f:spec":)"
                            R"({{"f:containers":{{"k:{{\"name\":\"main\"}}":{{".":{{}},"f:env":{{".":{{}}{}}},)"
                            R"("f:image":{{}},"f:resources":{{}}}}}}}})",
                            variables)),
        Managed("kubelet", "status",
                R"("f:status":{"f:conditions":{},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{}})"));
  }();
  std::string conditions = Conditions({{"PodReadyToStartContainers", "True"},
                                       {"Initialized", "True"},
                                       {"Ready", "True"},
                                       {"ContainersReady", "True"},
                                       {"PodScheduled", "True"}});
};

}  // namespace

std::string WireNodeName(int node) { return fmt::format("gpu-worker-{:05}.cluster.example", node); }

std::string NodeJson(int node, std::int64_t version) {
  static const NodeParts parts;
  const std::string name = WireNodeName(node);
  return fmt::format(
      R"({{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{0}","uid":"3f2a6c1e-0000-4000-8000-{1:012}",)"
      R"("resourceVersion":"{2}","creationTimestamp":"2026-01-05T08:00:00Z","labels":{{"kubernetes.io/hostname":"{0}",{3}}},)"
      R"("annotations":{{"csi.volume.kubernetes.io/nodeid":"{{\"ebs.csi.aws.com\":\"i-0{1:015}\"}}",)"
      R"("nfd.node.kubernetes.io/feature-labels":"cpu-cpuid.ADX,cpu-cpuid.AESNI,cpu-cpuid.AVX512F,pci-10de.present",)"
      R"("volumes.kubernetes.io/controller-managed-attach-detach":"true"}},"managedFields":[{4}]}},)"
      R"("spec":{{"podCIDR":"10.4.7.0/24","podCIDRs":["10.4.7.0/24"],"providerID":"aws:///eu-central-1b/i-0{1:015}",)"
      R"("taints":[{{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}}]}},"status":{{"capacity":{{)"
      R"("cpu":"192","ephemeral-storage":"1887436800Ki","memory":"2097152000Ki","nvidia.com/gpu":"8","pods":"110"}},)"
      R"("allocatable":{{"cpu":"191450m","memory":"2085617664Ki","nvidia.com/gpu":"8","pods":"110"}},)"
      R"("conditions":[{5}],"addresses":[{{"type":"InternalIP","address":"10.0.12.34"}},{{"type":"Hostname","address":"{0}"}}],)"
      R"("daemonEndpoints":{{"kubeletEndpoint":{{"Port":10250}}}},"nodeInfo":{{"kernelVersion":"5.15.0-1053","osImage":)"
      R"("Ubuntu 22.04.4 LTS","containerRuntimeVersion":"containerd://1.7.13","kubeletVersion":"v1.31.2"}},"images":[{6}]}}}})",
      name, node, version, parts.labels, parts.managed, parts.conditions, parts.images);
}

std::string PodJson(int node, int number, std::int64_t version) {
  static const PodParts parts;
  const bool driver = number == 0;
  return fmt::format(
      R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{0}-{1:05}","generateName":"{0}-","namespace":"{2}",)"
      R"("uid":"9b1d0c7a-{3:04}-4000-8000-{1:012}","resourceVersion":"{4}","creationTimestamp":"2026-03-01T08:00:00Z",)"
      R"("labels":{{"app":"{5}","controller-revision-hash":"7d9f8b6c5d"}},"annotations":{{"cni.example.com/network-status":)"
      R"("[{{\"name\":\"default\",\"interface\":\"eth0\",\"ips\":[\"10.4.7.19\"],\"mac\":\"0a:58:0a:04:07:13\",\"default\":true}}]"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"{6}","name":"{0}","uid":"owner-{3}","controller":true,)"
      R"("blockOwnerDeletion":true}}],"managedFields":[{7}]}},"spec":{{"nodeName":"{8}","restartPolicy":"Always",)"
      R"("containers":[{{"name":"main","image":"registry.example.com/team/{0}:v1.2.3","env":[{9}],"resources":{{"limits":)"
      R"({{"cpu":"16","memory":"128Gi","nvidia.com/gpu":"1"}},"requests":{{"cpu":"16","memory":"128Gi","nvidia.com/gpu":"1"}}}},)"
      R"("volumeMounts":[{{"name":"token","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}]}}],)"
      R"("volumes":[{{"name":"token","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}}]}}}}],)"
      R"("tolerations":[{{"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"}}]}},"status":{{"phase":"Running",)"
      R"("conditions":[{10}],"hostIP":"10.0.12.34","podIP":"10.4.7.19","containerStatuses":[{{"name":"main","ready":true,)"
      R"("restartCount":0,"started":true,"image":"registry.example.com/team/{0}:v1.2.3","imageID":"registry.example.com/team/{0}@{11}",)"
      R"("containerID":"containerd://{11}","state":{{"running":{{"startedAt":"2026-03-01T08:00:09Z"}}}}}}]}}}})",
      driver ? std::string("driver") : fmt::format("trainer-{}", number), node,
      driver ? std::string("gpu-operator") : fmt::format("team-{}", number % 7), number, version,
      driver ? "driver" : "trainer", driver ? "DaemonSet" : "ReplicaSet", parts.managed, WireNodeName(node),
      parts.environment, parts.conditions, kDigest);
}

}  // namespace driverupgrade::bench
