#include "openshift_preflight/preflight.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "openshift_preflight/toolkit_log.h"

namespace openshift_preflight {
namespace {

using Findings = std::vector<Finding>;

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

// Parses the first three numbers of a version, so that a release candidate or a nightly build counts as the release.
std::optional<Version> ParseVersion(std::string_view text) {
  std::array<int, 3> numbers = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc() || numbers[i] < 0) return std::nullopt;
    at = next;
  }
  return Version{numbers[0], numbers[1], numbers[2]};
}

constexpr Version kFirstToolkit{4, 8, 0};
constexpr std::array<Version, 3> kBrokenToolkits = {{{4, 8, 19}, {4, 8, 21}, {4, 9, 8}}};
constexpr Version kNoEntitlement{4, 9, 9};
constexpr Version kSecretsNeedRegistry{4, 15, 0};

// Returns true if the version has the bug BZ#2014071: an upgrade leaves a tag without a name in the image stream.
bool HasTagBug(const Version& version) {
  if (version.major == 4 && version.minor == 8) return version.patch < 21;
  return version < Version{4, 9, 5};
}

constexpr char kEntitle[] = "set up a cluster-wide entitlement";
constexpr char kSeeStream[] = "oc get -n openshift is/driver-toolkit";

// Returns false only if the user turned the toolkit off, because it has been on by default since version 22.9 of the
// operator.
bool IsToolkitWanted(const Facts& facts) { return !facts.policy || facts.policy->operator_uses_toolkit.value_or(true); }

std::string TurnOff(const Facts& facts) {
  return fmt::format(
      R"(oc patch clusterpolicy {} --type merge --patch '{{"spec":{{"operator":{{"use_ocp_driver_toolkit":false}}}}}}')",
      facts.policy ? facts.policy->name : "gpu-cluster-policy");
}

void CheckBrokenToolkit(const Facts& facts, const std::string& text, const Version& version, Findings& findings) {
  if (std::find(kBrokenToolkits.begin(), kBrokenToolkits.end(), version) == kBrokenToolkits.end()) return;
  findings.push_back(
      {.severity = IsToolkitWanted(facts) ? Severity::kError : Severity::kInfo,
       .id = "broken-toolkit-version",
       .what = fmt::format("the driver toolkit image of OpenShift {} is known to be broken", text),
       .why = "its kernel packages do not match the kernel of the nodes: the driver cannot be built "
              "with it, and the build falls back to packages that need an entitlement",
       .remedy = fmt::format("{}, upgrade to 4.9.9 or later, or turn the toolkit off: {}", kEntitle, TurnOff(facts))});
}

void CheckTagBug(const std::string& text, const Version& version, Findings& findings) {
  if (!HasTagBug(version)) return;
  findings.push_back(
      {.severity = Severity::kWarning,
       .id = "imagestream-bug",
       .what = fmt::format("an upgrade from OpenShift {} may break the image stream of the driver toolkit", text),
       .why = "BZ#2014071, fixed in 4.8.21 and 4.9.5: the upgrade leaves a tag with an empty name",
       .remedy = R"(check after the upgrade: oc get -n openshift is/driver-toolkit )"
                 R"('-ojsonpath={.spec.tags[?(@.name=="")]}')"});
}

void CheckOneVersion(const Facts& facts, const std::string& text, Findings& findings) {
  const std::optional<Version> version = ParseVersion(text);
  if (!version) {
    findings.push_back({.severity = Severity::kWarning,
                        .id = "version-unknown",
                        .what = fmt::format("`{}` is not a version of OpenShift that can be compared", text),
                        .why = "checks that depend on the version are skipped",
                        .remedy = "oc get clusterversion"});
    return;
  }
  CheckBrokenToolkit(facts, text, *version, findings);
  if (*version < kFirstToolkit) {
    findings.push_back(
        {.severity = Severity::kError,
         .id = "no-toolkit-version",
         .what = fmt::format("OpenShift {} has no driver toolkit", text),
         .why = "it was introduced in 4.8; without it the driver is built with packages that need an entitlement",
         .remedy = fmt::format("{}, or upgrade to 4.9.9 or later", kEntitle)});
  }
  if (*version < kNoEntitlement) {
    findings.push_back(
        {.severity = Severity::kWarning,
         .id = "entitlement",
         .what = fmt::format("OpenShift {} is older than 4.9.9 and may still need a cluster-wide entitlement", text),
         .why = "some driver toolkit images before 4.9.9 are broken, and the workaround needs an entitlement",
         .remedy = fmt::format("{}, or upgrade to 4.9.9 or later", kEntitle)});
  } else {
    findings.push_back({.severity = Severity::kInfo,
                        .id = "entitlement",
                        .what = fmt::format("OpenShift {} needs no entitlement with the driver toolkit", text)});
  }
  CheckTagBug(text, *version, findings);
}

void CheckVersions(const Facts& facts, Findings& findings) {
  const ClusterVersion& version = *facts.version;
  const std::set<std::string> texts = {version.desired.empty() ? version.installed : version.desired,
                                       version.installed.empty() ? version.desired : version.installed};
  for (const std::string& text : texts) CheckOneVersion(facts, text, findings);
  if (texts.size() > 1) {
    findings.push_back({.severity = Severity::kInfo,
                        .id = "update-under-way",
                        .what = fmt::format("the cluster is being updated from OpenShift {} to {}", version.installed,
                                            version.desired),
                        .why = "until the update is done, nodes may have the kernel of either version",
                        .remedy = "oc get clusterversion"});
  }
}

void CheckStream(const Facts& facts, Findings& findings) {
  const Severity severity = IsToolkitWanted(facts) ? Severity::kError : Severity::kInfo;
  if (!facts.toolkit) {
    findings.push_back(
        {.severity = severity,
         .id = "no-imagestream",
         .what = "there is no image stream openshift/driver-toolkit",
         .why = "the operator needs it to find a driver toolkit for the nodes",
         .remedy = fmt::format("the Cluster Version Operator creates this image stream; find out why it is missing: {}",
                               kSeeStream)});
    return;
  }
  for (const ToolkitStream::Tag& tag : facts.toolkit->tags) {
    if (!tag.name.empty()) continue;
    findings.push_back(
        {.severity = severity,
         .id = "empty-imagestream-tag",
         .what = fmt::format("the image stream openshift/driver-toolkit has a tag with an empty name, "
                             "for {}",
                             tag.image.empty() ? "no image" : tag.image),
         .why = "BZ#2014071: an upgrade of the cluster did not reach the driver toolkit",
         .remedy =
             "delete it; the Cluster Version Operator creates it again: oc delete -n openshift is/driver-toolkit"});
  }
}

void CheckNodeTags(const Facts& facts, Findings& findings) {
  if (!facts.toolkit || !IsToolkitWanted(facts)) return;
  std::set<std::string> tags;
  for (const ToolkitStream::Tag& tag : facts.toolkit->tags) tags.insert(tag.name);
  for (const GpuNode& node : facts.nodes) {
    if (node.rhcos.empty() || tags.contains(node.rhcos)) continue;
    findings.push_back({.severity = Severity::kError,
                        .id = "no-toolkit-for-node",
                        .what = fmt::format("node {} has RHCOS {}, for which openshift/driver-toolkit has no tag",
                                            node.name, node.rhcos),
                        .why = "the driver pod of the node cannot find a toolkit with the node's kernel packages",
                        .remedy = fmt::format("finish the cluster's update, then check the tags: {}", kSeeStream)});
  }
}

void CheckPolicy(const Facts& facts, Findings& findings) {
  if (!facts.policy) {
    findings.push_back(
        {.severity = Severity::kInfo, .id = "no-cluster-policy", .what = "there is no ClusterPolicy yet"});
    return;
  }
  const ClusterPolicy& policy = *facts.policy;
  if (policy.driver_uses_toolkit) {
    findings.push_back(
        {.severity = Severity::kWarning,
         .id = "misplaced-toolkit-option",
         .what = fmt::format("ClusterPolicy {} sets driver.use_ocp_driver_toolkit, which the operator does not read",
                             policy.name),
         .why = "the documentation names it, but the operator reads operator.use_ocp_driver_toolkit",
         .remedy = fmt::format(R"(oc patch clusterpolicy {} --type merge --patch )"
                               R"('{{"spec":{{"driver":{{"use_ocp_driver_toolkit":null}},)"
                               R"("operator":{{"use_ocp_driver_toolkit":{}}}}}}}')",
                               policy.name, *policy.driver_uses_toolkit)});
  }
  if (IsToolkitWanted(facts)) return;
  findings.push_back({.severity = Severity::kInfo,
                      .id = "toolkit-off",
                      .what = fmt::format("ClusterPolicy {} switches off operator.use_ocp_driver_toolkit", policy.name),
                      .why = "without the driver toolkit the driver is built with packages that need an entitlement",
                      .remedy = fmt::format(R"({}, or: oc patch clusterpolicy {} --type merge --patch )"
                                            R"('{{"spec":{{"operator":{{"use_ocp_driver_toolkit":true}}}}}}')",
                                            kEntitle, policy.name)});
}

constexpr char kPatchRegistry[] = "oc patch configs.imageregistry.operator.openshift.io cluster --type merge --patch ";
constexpr char kNoSecrets[] =
    "from 4.15 on, secrets of service accounts are not created while the registry is disabled; the operator waits for "
    "the secret of `builder` before it creates the driver toolkit DaemonSet";

void CheckRegistry(const Facts& facts, Findings& findings) {
  const std::optional<Version> version =
      ParseVersion(facts.version->installed.empty() ? facts.version->desired : facts.version->installed);
  if (!version || *version < kSecretsNeedRegistry) return;
  const Severity severity = IsToolkitWanted(facts) ? Severity::kError : Severity::kInfo;
  const std::string state = facts.registry ? facts.registry->management_state : "";
  const bool managed = state == "Managed";
  const bool has_storage = facts.registry && facts.registry->has_storage;
  if (!has_storage) {
    findings.push_back(
        {.severity = severity,
         .id = "registry-storage",
         .what = "the image registry has no storage",
         .why = kNoSecrets,
         .remedy =
             fmt::format("configure a volume; an ephemeral volume suffices if this is not a production cluster: {}{}",
                         kPatchRegistry, R"('{"spec":{"storage":{"emptyDir":{}}}}')")});
  }
  if (!managed) {
    findings.push_back(
        {.severity = severity,
         .id = "registry-not-managed",
         .what = fmt::format("the image registry is {}, not Managed", state.empty() ? "not set up" : state),
         .why = kNoSecrets,
         .remedy = fmt::format("{}{}", kPatchRegistry, R"('{"spec":{"managementState":"Managed"}}')")});
  }
  // Until the operator is installed, the secrets in its namespace do not matter.
  if (!facts.has_builder_secret && facts.policy) {
    findings.push_back(
        {.severity = severity,
         .id = "no-builder-secret",
         .what = fmt::format("namespace {} has no secret builder-dockercfg-...", facts.ns),
         .why = kNoSecrets,
         .remedy = managed && has_storage
                       ? fmt::format("the secret is created once the registry runs: oc get secrets -n {}", facts.ns)
                       : "repair the registry first"});
  }
}

const GpuNode* NodeOf(const Facts& facts, const std::string& name) {
  const auto node =
      std::find_if(facts.nodes.begin(), facts.nodes.end(), [&](const GpuNode& n) { return n.name == name; });
  return node == facts.nodes.end() ? nullptr : &*node;
}

void CheckKernel(const Facts& facts, const DriverPod& pod, const ToolkitMessages& said, Findings& findings) {
  const GpuNode* node = NodeOf(facts, pod.node);
  const std::string kernel = node != nullptr && !node->kernel.empty() ? node->kernel : said.node_kernel;
  if (!said.kernel_package.empty() && said.kernel_package == kernel) {
    findings.push_back(
        {.severity = Severity::kInfo,
         .id = "kernel-mismatch-past",
         .what = fmt::format(
             "the driver toolkit of pod {} did not match kernel {} of node {} when the pod started, but matches it now",
             pod.name, kernel, pod.node),
         .why = "the kernel of the node has changed since then",
         .remedy = fmt::format("restart it: oc delete pod -n {} {}", facts.ns, pod.name)});
    return;
  }
  findings.push_back(
      {.severity = Severity::kError,
       .id = "kernel-mismatch",
       .what = fmt::format("the driver toolkit of pod {} is for kernel {}, but node {} has {}", pod.name,
                           said.kernel_package.empty() ? "(not named)" : said.kernel_package, pod.node,
                           kernel.empty() ? "(not named)" : kernel),
       .why = fmt::format("the driver cannot be built with it{}",
                          said.fallback ? ", and the build falls back to packages that need an entitlement" : ""),
       .remedy =
           fmt::format("{}, or turn the toolkit off: {}; the log: oc logs -n {} {} -c openshift-driver-toolkit-ctr",
                       kEntitle, TurnOff(facts), facts.ns, pod.name)});
}

void CheckFeatureDiscovery(const Facts& facts, Findings& findings) {
  if (facts.has_nfd || facts.nodes.empty()) return;
  findings.push_back(
      {.severity = Severity::kError,
       .id = "no-nfd",
       .what = "no node has a label of Node Feature Discovery",
       .why = "the GPU Operator uses these labels to find the nodes with a GPU, their kernel and their RHCOS version",
       .remedy = "install the Node Feature Discovery Operator with a NodeFeatureDiscovery"});
}

void CheckPools(const Facts& facts, Findings& findings) {
  for (const MachineConfigPool& pool : facts.pools) {
    if (pool.degraded) {
      findings.push_back({.severity = Severity::kError,
                          .id = "machine-config-degraded",
                          .what = fmt::format("the machine config pool {} is degraded", pool.name),
                          .why = "some of its nodes cannot apply their configuration, and may stay cordoned",
                          .remedy = fmt::format("oc describe mcp {}", pool.name)});
    }
    const bool rolls = pool.updating || pool.updated < pool.machines;
    if (!rolls) continue;
    findings.push_back(
        {.severity = Severity::kWarning,
         .id = "machine-config-rollout",
         .what = fmt::format("the machine config pool {} is being rolled out: {} of {} nodes{}", pool.name,
                             pool.updated, pool.machines, pool.paused ? ", and it is paused" : ""),
         .why = "the rollout cordons, drains and reboots nodes on its own, possibly with another kernel: a driver "
                "that is upgraded now may have to be built again",
         .remedy = pool.paused ? fmt::format("oc patch mcp {} --type merge --patch '{{\"spec\":{{\"paused\":false}}}}'",
                                             pool.name)
                               : fmt::format("wait: oc wait mcp/{} --for=condition=Updated", pool.name)});
  }
}

void CheckPods(const Facts& facts, Findings& findings) {
  for (const DriverPod& pod : facts.pods) {
    if (!pod.stalled.empty()) {
      findings.push_back({.severity = Severity::kError,
                          .id = "stalled-pod",
                          .what = fmt::format("driver pod {} makes no progress: {}", pod.name, pod.stalled),
                          .why = "its node has no driver, and an upgrade would wait for the pod",
                          .remedy = fmt::format("oc describe pod -n {} {}", facts.ns, pod.name)});
    }
    for (const std::string& error : pod.unread) {
      findings.push_back({.severity = Severity::kWarning,
                          .id = "log-unread",
                          .what = fmt::format("a log of pod {} cannot be read: {}", pod.name, error),
                          .why = "it is not known whether the driver toolkit matches the node's kernel",
                          .remedy = fmt::format("oc logs -n {} {} --all-containers", facts.ns, pod.name)});
    }
    const ToolkitMessages toolkit = ReadToolkitLog(pod.toolkit_log);
    const ToolkitMessages driver = ReadToolkitLog(pod.driver_log);
    ToolkitMessages both = toolkit.broken ? toolkit : driver;
    both.fallback = toolkit.fallback || driver.fallback;
    if (both.broken) CheckKernel(facts, pod, both, findings);
  }
}

}  // namespace

std::vector<Finding> Examine(const Facts& facts) {
  if (!facts.version) {
    return {{.severity = Severity::kInfo,
             .id = "not-openshift",
             .what = "this is not an OpenShift cluster",
             .why = "it has no ClusterVersion `version`; no check applies"}};
  }
  Findings findings;
  CheckVersions(facts, findings);
  CheckStream(facts, findings);
  CheckNodeTags(facts, findings);
  CheckPolicy(facts, findings);
  CheckRegistry(facts, findings);
  CheckFeatureDiscovery(facts, findings);
  CheckPools(facts, findings);
  CheckPods(facts, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return findings;
}

bool IsAboveInfo(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity > Severity::kInfo; });
}

}  // namespace openshift_preflight
