#include "openshift_preflight/collect.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "driverupgrade/label_selector.h"
#include "fmt/format.h"
#include "support/json.h"

namespace openshift_preflight {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::CallContext;
using driverupgrade::LabelSelector;
using driverupgrade::ObjectClient;
using driverupgrade::ObjectKind;
using driverupgrade::ObjectName;
using examples::Find;
using examples::Items;
using examples::Text;
using rapidjson::Document;

const ObjectKind kClusterVersions{"config.openshift.io/v1", "clusterversions", /*namespaced=*/false};
const ObjectKind kImageStreams{"image.openshift.io/v1", "imagestreams"};
const ObjectKind kClusterPolicies{"nvidia.com/v1", "clusterpolicies", /*namespaced=*/false};
const ObjectKind kRegistries{"imageregistry.operator.openshift.io/v1", "configs", /*namespaced=*/false};
const ObjectKind kServiceAccounts{"v1", "serviceaccounts"};
const ObjectKind kNodes{"v1", "nodes", /*namespaced=*/false};
const ObjectKind kPods{"v1", "pods"};
const ObjectKind kPools{"machineconfiguration.openshift.io/v1", "machineconfigpools", /*namespaced=*/false};

constexpr char kToolkitContainer[] = "openshift-driver-toolkit-ctr";
constexpr char kDriverContainer[] = "nvidia-driver-ctr";
// Time within which the containers of a new pod are expected to start.
constexpr absl::Duration kStartPatience = absl::Minutes(1);
// Size limit for a log, which can be long; the relevant messages appear early.
constexpr char kLogBytesMax[] = "1048576";
constexpr char kNfdPrefix[] = "feature.node.kubernetes.io/";
// Each of these labels shows that the node has a GPU: the operator's own label, and the label of Node Feature
// Discovery.
constexpr const char* kGpuLabels[] = {"nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present"};

// Returns the time at `path`, or InfinitePast if the field is missing.
absl::Time TimeAt(const rapidjson::Value& object, examples::JsonPath path) {
  absl::Time time;
  std::string error;
  return absl::ParseTime(absl::RFC3339_full, Text(object, path), &time, &error) ? time : absl::InfinitePast();
}

class Collector {
 public:
  Collector(const CallContext& context, const ObjectClient& objects, const CollectOptions& options)
      : context_(context), objects_(objects), options_(options) {}

  absl::StatusOr<Facts> Run() {
    Facts facts{.ns = options_.ns};
    facts.version = Version();
    if (!facts.version) return Ended(std::move(facts));
    facts.toolkit = Toolkit();
    facts.policy = Policy();
    facts.registry = ReadRegistry();
    facts.has_builder_secret = HasBuilderSecret();
    facts.nodes = Nodes(facts.has_nfd);
    facts.pools = Pools();
    facts.pods = Pods();
    return Ended(std::move(facts));
  }

 private:
  absl::StatusOr<Facts> Ended(Facts facts) const {
    if (!failed_.ok()) return failed_;
    return facts;
  }

  // Returns the object; nullopt if it does not exist. After the first failed request, sends no further requests.
  std::optional<Document> Get(const ObjectKind& kind, const ObjectName& name) {
    if (!failed_.ok()) return std::nullopt;
    const absl::StatusOr<ApiObject> object = objects_.Get(context_, kind, name);
    if (absl::IsNotFound(object.status())) return std::nullopt;
    return Parse(object);
  }
  std::vector<Document> List(const ObjectKind& kind, const driverupgrade::ListObjectsParams& params) {
    std::vector<Document> documents;
    if (!failed_.ok()) return documents;
    const absl::StatusOr<std::vector<ApiObject>> objects = objects_.List(context_, kind, params);
    if (absl::IsNotFound(objects.status())) return documents;
    if (!objects.ok()) failed_ = objects.status();
    for (std::size_t i = 0; objects.ok() && i < objects->size(); ++i) {
      if (std::optional<Document> document = Parse((*objects)[i])) documents.push_back(*std::move(document));
    }
    return documents;
  }
  std::optional<Document> Parse(const absl::StatusOr<ApiObject>& object) {
    if (!object.ok()) {
      failed_ = object.status();
      return std::nullopt;
    }
    absl::StatusOr<Document> document = examples::ParseJson(object->json);
    if (document.ok()) return *std::move(document);
    failed_ = document.status();
    return std::nullopt;
  }

  std::optional<ClusterVersion> Version() {
    const std::optional<Document> object = Get(kClusterVersions, {.name = "version"});
    if (!object) return std::nullopt;
    ClusterVersion version{.desired = Text(*object, {"status", "desired", "version"})};
    for (const rapidjson::Value& entry : Items(*object, {"status", "history"})) {  // newest first
      if (Text(entry, {"state"}) != "Completed") continue;
      version.installed = Text(entry, {"version"});
      break;
    }
    return version;
  }

  std::optional<ToolkitStream> Toolkit() {
    const std::optional<Document> object = Get(kImageStreams, {"openshift", "driver-toolkit"});
    if (!object) return std::nullopt;
    ToolkitStream stream;
    for (const rapidjson::Value& tag : Items(*object, {"spec", "tags"})) {
      stream.tags.push_back({.name = Text(tag, {"name"}), .image = Text(tag, {"from", "name"})});
    }
    return stream;
  }

  static std::optional<bool> OptionalFlag(const rapidjson::Value& object, examples::JsonPath path) {
    const rapidjson::Value* value = Find(object, path);
    if (value == nullptr || !value->IsBool()) return std::nullopt;
    return value->GetBool();
  }

  // Returns the active policy, which is the oldest one.
  std::optional<ClusterPolicy> Policy() {
    const std::vector<Document> policies = List(kClusterPolicies, {});
    const auto age = [](const Document& object) {
      return std::tuple(Text(object, {"metadata", "creationTimestamp"}), Text(object, {"metadata", "name"}));
    };
    const auto active = std::min_element(policies.begin(), policies.end(),
                                         [&](const Document& a, const Document& b) { return age(a) < age(b); });
    if (active == policies.end()) return std::nullopt;
    return ClusterPolicy{.name = Text(*active, {"metadata", "name"}),
                         .operator_uses_toolkit = OptionalFlag(*active, {"spec", "operator", "use_ocp_driver_toolkit"}),
                         .driver_uses_toolkit = OptionalFlag(*active, {"spec", "driver", "use_ocp_driver_toolkit"})};
  }

  std::optional<Registry> ReadRegistry() {
    const std::optional<Document> object = Get(kRegistries, {.name = "cluster"});
    if (!object) return std::nullopt;
    const rapidjson::Value* storage = Find(*object, {"spec", "storage"});
    Registry registry{.management_state = Text(*object, {"spec", "managementState"})};
    if (storage != nullptr && storage->IsObject()) {
      for (const auto& kind : storage->GetObject()) {
        // {"managementState": "Managed"} defines who manages the storage, but not its location.
        registry.has_storage = registry.has_storage || kind.value.IsObject();
      }
    }
    return registry;
  }

  bool HasBuilderSecret() {
    const std::optional<Document> object = Get(kServiceAccounts, {options_.ns, "builder"});
    if (!object) return false;
    for (const char* list : {"secrets", "imagePullSecrets"}) {
      for (const rapidjson::Value& secret : Items(*object, {list})) {
        if (Text(secret, {"name"}).starts_with("builder-dockercfg")) return true;
      }
    }
    return false;
  }

  // Returns the nodes with a GPU, or all nodes if no node has a GPU label yet.
  std::vector<GpuNode> Nodes(bool& has_nfd) {
    std::vector<GpuNode> all;
    std::vector<GpuNode> with_gpu;
    has_nfd = false;
    for (const Document& object : List(kNodes, {})) {
      const auto labels = examples::TextMap(object, {"metadata", "labels"});
      has_nfd = has_nfd || std::any_of(labels.begin(), labels.end(),
                                       [](const auto& label) { return label.first.starts_with(kNfdPrefix); });
      GpuNode node{.name = Text(object, {"metadata", "name"}),
                   .kernel = Text(object, {"status", "nodeInfo", "kernelVersion"}),
                   .rhcos = RhcosVersion(Text(object, {"status", "nodeInfo", "osImage"}))};
      const bool has_gpu = std::any_of(std::begin(kGpuLabels), std::end(kGpuLabels), [&](const char* label) {
        return Text(object, {"metadata", "labels", label}) == "true";
      });
      if (has_gpu) with_gpu.push_back(node);
      all.push_back(std::move(node));
    }
    return with_gpu.empty() ? all : with_gpu;
  }

  static bool HasCondition(const rapidjson::Value& object, const std::string& type) {
    const auto conditions = Items(object, {"status", "conditions"});
    return std::any_of(conditions.begin(), conditions.end(), [&](const rapidjson::Value& condition) {
      return Text(condition, {"type"}) == type && Text(condition, {"status"}) == "True";
    });
  }

  std::vector<MachineConfigPool> Pools() {
    std::vector<MachineConfigPool> pools;
    for (const Document& object : List(kPools, {})) {
      pools.push_back({.name = Text(object, {"metadata", "name"}),
                       .machines = examples::Integer(object, {"status", "machineCount"}),
                       .updated = examples::Integer(object, {"status", "updatedMachineCount"}),
                       .updating = HasCondition(object, "Updating"),
                       .degraded = HasCondition(object, "Degraded"),
                       .paused = examples::Flag(object, {"spec", "paused"})});
    }
    return pools;
  }

  // Returns the time since which no init container has been running: the end of the last init container, or the pod's
  // creation. InfiniteFuture if an init container is running.
  static absl::Time InitializedAt(const rapidjson::Value& pod) {
    absl::Time since = TimeAt(pod, {"metadata", "creationTimestamp"});
    for (const rapidjson::Value& container : Items(pod, {"status", "initContainerStatuses"})) {
      if (Find(container, {"state", "running"}) != nullptr) return absl::InfiniteFuture();
      since = std::max(since, TimeAt(container, {"state", "terminated", "finishedAt"}));
    }
    return since;
  }

  // Returns why the pod makes no progress. The reasons ContainerCreating and PodInitializing are normal only for a new
  // pod: if the image registry's secret is missing, volumes cannot be mounted, and the pod waits indefinitely.
  std::string Stalled(const rapidjson::Value& pod) const {
    const bool is_new = options_.now - InitializedAt(pod) < kStartPatience;
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
      for (const rapidjson::Value& container : Items(pod, {"status", list})) {
        const std::string reason = Text(container, {"state", "waiting", "reason"});
        const bool begins = reason == "ContainerCreating" || reason == "PodInitializing";
        if (reason.empty() || (begins && is_new)) continue;
        return fmt::format("container {}: {}", Text(container, {"name"}), reason);
      }
    }
    for (const rapidjson::Value& condition : Items(pod, {"status", "conditions"})) {
      if (Text(condition, {"reason"}) == "Unschedulable") return "Unschedulable: " + Text(condition, {"message"});
    }
    return {};
  }

  std::vector<DriverPod> Pods() {
    std::vector<DriverPod> pods;
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"openshift.driver-toolkit", "true"}});
    for (const Document& object : List(kPods, {.ns = options_.ns, .label_selector = labels})) {
      DriverPod pod{.name = Text(object, {"metadata", "name"}),
                    .node = Text(object, {"spec", "nodeName"}),
                    .stalled = Stalled(object)};
      for (const rapidjson::Value& container : Items(object, {"spec", "containers"})) {
        const std::string name = Text(container, {"name"});
        if (name == kToolkitContainer) pod.toolkit_log = Log(pod, name);
        if (name == kDriverContainer) pod.driver_log = Log(pod, name);
      }
      pods.push_back(std::move(pod));
    }
    return pods;
  }

  std::string Log(DriverPod& pod, const std::string& container) {
    absl::StatusOr<std::string> log = objects_.GetText(context_, kPods, {options_.ns, pod.name}, "log",
                                                       {{"container", container}, {"limitBytes", kLogBytesMax}});
    if (log.ok()) return *std::move(log);
    // These errors are expected: 400 if the container has not started, 404 if the pod was deleted.
    if (!absl::IsInvalidArgument(log.status()) && !absl::IsNotFound(log.status())) {
      pod.unread.emplace_back(log.status().message());
    }
    return {};
  }

  const CallContext& context_;
  const ObjectClient& objects_;
  const CollectOptions& options_;
  absl::Status failed_;
};

}  // namespace

absl::StatusOr<Facts> Collect(const CallContext& context, const ObjectClient& objects, const CollectOptions& options) {
  return Collector(context, objects, options).Run();
}

std::string RhcosVersion(std::string_view os_image) {
  constexpr std::string_view kSystem = "CoreOS ";
  const std::size_t at = os_image.find(kSystem);
  if (at == std::string_view::npos) return {};
  os_image.remove_prefix(at + kSystem.size());
  const std::string_view version = os_image.substr(0, os_image.find(' '));
  // Excludes Fedora CoreOS, whose version has no build number after a dash, and for which there is no driver toolkit.
  const bool plain = version.find_first_not_of("0123456789.-") == std::string_view::npos;
  return plain && version.find('-') != std::string_view::npos ? std::string(version) : std::string();
}

}  // namespace openshift_preflight
