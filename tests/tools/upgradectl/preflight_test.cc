// Tests that `upgradectl preflight` finds each planted obstacle, and no obstacles in a clean cluster.
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "upgradectl_support.h"
#include "whatif/budgets.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kDriverOwner =
    R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}])";
constexpr std::string_view kOwner =
    R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"rs","controller":true}])";

// Returns the GPU operator's validation pod on the node.
std::string Validator(std::string_view node) {
  return fmt::format(R"(,
{{"kind":"Pod","metadata":{{"namespace":"gpu-operator","name":"validator-{0}","uid":"v{0}","labels":{{"app":"nvidia-operator-validator"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"validator","uid":"vs","controller":true}}]}},
"spec":{{"nodeName":"{0}"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}]}}}})",
                     node);
}

// A cluster without obstacles. Tests add obstacles by changing the members.
struct Scene {
  std::string policy = "{autoUpgrade: true, maxParallelUpgrades: 1, drain: {enable: true, timeoutSeconds: 300}}";
  std::string strategy = "OnDelete";
  int observed = 1;
  std::string set_labels = R"("app":"nvidia-driver-daemonset")";
  /// Additional members in the metadata, spec, and status of node n1.
  std::string node_metadata = {};
  std::string node_spec = {};
  std::string ready = "True";
  bool driver_pod = true;
  std::string driver_owner = std::string(kDriverOwner);
  std::string driver_labels = R"("app":"nvidia-driver-daemonset","controller-revision-hash":"old")";
  std::string driver_ready = "true";
  /// Additional members of pod web-1 on node n1, which a drain evicts.
  std::string pod_owner = std::string(kOwner);
  std::string pod_metadata = {};
  std::string pod_spec = {};
  std::string pod_ready = "true";
  std::string requests = R"({"nvidia.com/gpu":"2"})";
  bool validator = true;
  std::string more = {};

  std::string Dump() const {
    std::string text = fmt::format(R"({{"kind":"List","items":[
{{"kind":"Node","metadata":{{"name":"n1","uid":"u1","resourceVersion":"1"{}}},"spec":{{{}}},
"status":{{"conditions":[{{"type":"Ready","status":"{}"}}],"allocatable":{{"nvidia.com/gpu":"4"}}}}}},
{{"kind":"Node","metadata":{{"name":"n2","uid":"u2","resourceVersion":"1"}},"status":{{"allocatable":{{"nvidia.com/gpu":"4"}}}}}},
{{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{{"namespace":"gpu-operator","name":"driver","uid":"ds","generation":1,"labels":{{{}}}}},
"spec":{{"selector":{{}},"updateStrategy":{{"type":"{}"}}}},"status":{{"observedGeneration":{}}}}})",
                                   node_metadata, node_spec, ready, set_labels, strategy, observed);
    if (driver_pod) {
      text += fmt::format(R"(,
{{"kind":"Pod","metadata":{{"namespace":"gpu-operator","name":"driver-1","uid":"d1","labels":{{{}}}{}}},"spec":{{"nodeName":"n1"}},
"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":{}}}]}}}})",
                          driver_labels, driver_owner.empty() ? "" : "," + driver_owner, driver_ready);
    }
    text += fmt::format(R"(,
{{"kind":"Pod","metadata":{{"namespace":"shop","name":"web-1","uid":"w1","labels":{{"app":"web"}}{}{}}},
"spec":{{"nodeName":"n1","containers":[{{"name":"c","resources":{{"requests":{}}}}}]{}}},
"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":{}}}]}}}}{}]}})",
                        pod_owner.empty() ? "" : "," + pod_owner, pod_metadata, requests, pod_spec, pod_ready,
                        (validator ? Validator("n1") : "") + more);
    return text;
  }
};

std::string Budget(std::string_view name, int allowed, int healthy, int needed, int expected) {
  return fmt::format(
      R"(,{{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{{"namespace":"shop","name":"{}"}},
"spec":{{"selector":{{"matchLabels":{{"app":"web"}}}}}},
"status":{{"disruptionsAllowed":{},"currentHealthy":{},"desiredHealthy":{},"expectedPods":{}}}}})",
      name, allowed, healthy, needed, expected);
}

Answer Preflight(const Scene& scene, const Texts& more = {}) {
  const ScratchFile dump(scene.Dump());
  const ScratchFile policy(scene.policy);
  Texts arguments = {"preflight", "--cluster", dump.path(), "--policy", policy.path(), "--at", "2026-01-02T12:05:00Z"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunWith(arguments);
}

// Returns the codes of the obstacles in the output.
std::set<std::string> Codes(const Scene& scene, const Texts& more = {}) {
  Texts arguments = {"-o", "json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Answer answer = Preflight(scene, arguments);
  INFO(answer.err);
  json::Document document;
  document.Parse(answer.out.c_str());
  REQUIRE(document.IsArray());
  std::set<std::string> codes;
  for (const json::Value& row : document.GetArray()) {
    codes.insert(Text(row, {"code"}));
    CHECK_FALSE(Text(row, {"problem"}).empty());
    CHECK_FALSE(Text(row, {"remedy"}).empty());
    CHECK(row["objects"].Size() > 0);
  }
  return codes;
}

TEST_CASE("A clean cluster has no obstacles") {
  const Answer answer = Preflight({}, {"--fail-on", "warning"});
  CHECK(answer.exit_code == kExitDone);
  CHECK(answer.out == "no obstacles found\n");
}

struct Planted {
  std::string code;
  Scene scene;
  Texts options = {};
};

TEST_CASE("Preflight finds each planted obstacle, and no other obstacles") {
  const std::string prefix = "nvidia.com/gpu-driver-upgrade";
  const auto labels = [&](const std::string& label) { return fmt::format(R"(,"labels":{{"{}{}"}})", prefix, label); };
  const auto annotations = [&](const std::string& text) { return fmt::format(R"(,"annotations":{{{}}})", text); };
  const std::vector<Planted> obstacles = {
      {"BarePod", {.pod_owner = ""}},
      {"EmptyDir", {.pod_spec = R"(,"volumes":[{"name":"v","emptyDir":{}}])"}},
      {"BudgetNeverAllows", {.more = Budget("all", 0, 2, 2, 2)}},
      {"BudgetAllowsNone", {.more = Budget("some", 0, 2, 2, 3)}},
      {"SeveralBudgets", {.more = Budget("a", 1, 3, 2, 3) + Budget("b", 1, 3, 2, 3)}},
      {"LongGrace", {.pod_spec = R"(,"terminationGracePeriodSeconds":600)"}},
      {"DoesNotEnd", {.pod_metadata = R"(,"deletionTimestamp":"2026-01-02T12:00:00Z","finalizers":["x.org/y"])"}},
      {"ToleratesCordon",
       {.pod_metadata = R"(,"creationTimestamp":"2026-01-01T12:00:00Z")",
        .pod_spec = R"(,"tolerations":[{"operator":"Exists"}])"}},
      {"NodeNotReady", {.ready = "False"}},
      {"NodeDegraded", {.node_metadata = annotations(R"("machineconfiguration.openshift.io/state":"Degraded")")}},
      {"NodeCordoned", {.node_spec = R"("unschedulable":true)"}},
      {"NodeCordoned",
       {.node_metadata = labels(R"(-state":"upgrade-required)"), .node_spec = R"("unschedulable":true)"}},
      {"NodeSkipped", {.node_metadata = labels(R"(.skip":"true)")}},
      {"NodeFailed", {.node_metadata = labels(R"(-state":"upgrade-failed)")}},
      {"UnknownState", {.node_metadata = labels(R"(-state":"on-holiday)")}},
      {"StaleMarks", {.node_metadata = annotations(R"("driverupgrade/cordoned-by":"nvidia.com/gpu")")}},
      {"WaitsForSafeLoad",
       {.node_metadata = annotations(fmt::format(R"("{}.driver-wait-for-safe-load":"true")", prefix))}},
      {"NoDriverPod", {.node_metadata = labels(R"(-state":"upgrade-done)"), .driver_pod = false}},
      {"DriverPodWithoutOwner", {.driver_owner = ""}},
      {"DriverPodWithoutRevision", {.driver_labels = R"("app":"nvidia-driver-daemonset")"}},
      {"DriverPodNotReady", {.driver_ready = "false"}},
      {"UpdateStrategy", {.strategy = "RollingUpdate"}},
      {"TemplateNotSeen", {.observed = 0}},
      {"NoDaemonSet", {.set_labels = R"("app":"other")"}},
      {"NoValidationPod", {.validator = false}},
      {"NoValidationPod", {}, {"--validation-selector", "app=validator"}},
      {"AutoUpgradeOff", {.policy = "{autoUpgrade: false, drain: {enable: true}}"}},
      {"Paused", {.policy = "{autoUpgrade: true, paused: true, drain: {enable: true}}"}},
      {"FieldWithoutEffect", {.policy = "{autoUpgrade: true, maxParallelUpgrades: 50, drain: {enable: true}}"}},
      {"SelectsNothing",
       {.policy = "{autoUpgrade: true, drain: {enable: true}, waitForCompletion: {podSelector: app=training}}"}},
      {"Capacity", {.requests = R"({"nvidia.com/gpu":"5"})"}},
      {"EvictionWebhook",
       {.more =
            R"(,{"kind":"ValidatingWebhookConfiguration","metadata":{"name":"guard"},"webhooks":[{"name":"g","rules":[{"operations":["CREATE"],"resources":["pods/eviction"]}]}]})"}},
  };
  for (const Planted& planted : obstacles) {
    CAPTURE(planted.code);
    CHECK(Codes(planted.scene, planted.options) == std::set<std::string>{planted.code});
  }
}

TEST_CASE("Both kinds of webhooks are read from a server, and webhooks that fail open are ignored") {
  const auto found = [](const std::string& kind, const std::string& more) {
    const Scene scene{
        .more = fmt::format(
            R"(,{{"kind":"{}WebhookConfiguration","metadata":{{"name":"guard"}},"webhooks":[{{"name":"g"{},"rules":[{{"operations":["CREATE"],"resources":["pods/eviction"]}}]}}]}})",
            kind, more)};
    const ScratchFile policy(scene.policy);
    const auto server = std::make_shared<DumpServer>(scene.Dump());
    const Answer answer = RunIn({"preflight", "--policy", policy.path(), "--kubeconfig", "any"}, {.server = server});
    return answer.out.find("  - guard (g)\n") != std::string::npos;
  };
  const std::string kind = GENERATE(as<std::string>(), "Validating", "Mutating");
  CHECK(found(kind, ""));
  CHECK_FALSE(found(kind, R"(,"failurePolicy":"Ignore")"));
}

TEST_CASE("A pod that is not ready and has an exhausted budget is reported in addition to the budget") {
  CHECK(Codes({.pod_ready = "false", .more = Budget("some", 0, 1, 2, 3)}) ==
        std::set<std::string>{"BudgetAllowsNone", "UnreadyBehindBudget"});
}

TEST_CASE("Pods that the policy can evict by force, or does not evict, are not obstacles") {
  const Scene bare{.policy = "{autoUpgrade: true, drain: {enable: true, force: true}}", .pod_owner = ""};
  CHECK(Codes(bare).empty());
  const Scene spared{.policy = "{autoUpgrade: true, drain: {enable: true, podSelector: app!=web}}", .pod_owner = ""};
  CHECK(Codes(spared, {"--no-gpu-pods"}).empty());
  const Scene deletion{.policy = "autoUpgrade: true", .pod_owner = ""};
  CHECK(Codes(deletion, {"--no-gpu-pods"}).empty());
  CHECK(Codes(deletion) == std::set<std::string>{"BarePod"});
}

TEST_CASE("With the default policy a pod that requests a GPU is an obstacle, and a pod without a GPU is ignored") {
  const auto found = [](const std::string& requests, const Texts& more = {}) {
    const Scene scene{.policy = "{autoUpgrade: true, podDeletion: {}}",
                      .pod_owner = "",
                      .requests = requests,
                      .more = Budget("all", 0, 2, 2, 2)};
    return Codes(scene, more);
  };
  CHECK(found(R"({"nvidia.com/gpu":"2"})") == std::set<std::string>{"BarePod", "BudgetNeverAllows"});
  CHECK(found(R"({"cpu":"2"})").empty());
  CHECK(found(R"({"nvidia.com/gpu":"2"})", {"--no-gpu-pods"}).empty());
}

// Devices that a DRA driver publishes for node n1.
constexpr std::string_view kSlice = R"(,{"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1",
"metadata":{"name":"n1-gpu.nvidia.com","uid":"s1"},"spec":{"driver":"gpu.nvidia.com","nodeName":"n1",
"pool":{"name":"n1","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0"}]}})";

TEST_CASE("A-1: preflight names the nodes whose devices cannot be tainted separately, and the reason") {
  const auto scene = [](const std::string& isolation, const std::string& more) {
    return Scene{.policy = "{autoUpgrade: true, maxParallelUpgrades: 1, podDeletion: {}, isolation: " + isolation + "}",
                 .requests = "{}",
                 .more = more};
  };
  const std::string slice(kSlice);
  // The GPUs of node n1 come from a device plugin, so device taints do not affect them.
  const Answer waits = Preflight(scene("{scope: Devices}", slice));
  CHECK(waits.out.find("error DevicesUnfit: ") != std::string::npos);
  CHECK(waits.out.find("n1: a device plugin offers nvidia.com/gpu on the node") != std::string::npos);
  const Answer is_cordoned = Preflight(scene("{scope: Auto}", slice));
  CHECK(is_cordoned.out.find("warning DevicesUnfit: ") != std::string::npos);
  const std::string without_plugin = "{scope: Devices, pluginResources: [example.com/none]}";
  CHECK(Codes(scene(without_plugin, slice)).empty());
  const Answer unpublished = Preflight(scene(without_plugin, ""));
  CHECK(unpublished.out.find("n1: no devices are published for the node") != std::string::npos);
  CHECK(Codes(scene("{scope: Node}", slice)).empty());
}

TEST_CASE("A missing permission of the operator is an error, and each permission causes one review") {
  const ScratchFile policy("{autoUpgrade: true}");
  const Texts arguments = {"preflight", "--policy", policy.path(), "--kubeconfig", "any", "--rights"};
  const auto asked = [&](const std::string& whose, const std::shared_ptr<DumpServer>& server) {
    Texts all = arguments;
    all.push_back(whose);
    return RunIn(all, {.server = server});
  };
  const auto server = std::make_shared<DumpServer>(Scene().Dump());
  CHECK(asked("self", server).out == "no obstacles found\n");
  server->Deny(R"("verb":"patch","name":"")");
  server->Deny(R"("resource":"leases","subresource":"","verb":"get","name":"nvidia-gpu-driver-upgrade")");
  const Answer missing = asked("gpu-operator/driver-upgrade", server);
  CHECK(missing.exit_code == kExitFailed);
  CHECK(
      missing.out.starts_with("error RightMissing: The operator lacks a permission that it needs.\n"
                              "  do: Bind its ServiceAccount to the roles in deploy/rbac.\n"
                              "  - get leases.coordination.k8s.io nvidia-gpu-driver-upgrade in gpu-operator\n"));
  CHECK(missing.out.find("  - patch nodes\n") != std::string::npos);
  const Answer mistyped = asked("driver-upgrade", server);
  CHECK(mistyped.exit_code == kExitUsage);
  CHECK(mistyped.err == "upgradectl: --rights: `driver-upgrade` is neither self nor NAMESPACE/SERVICEACCOUNT\n");
  server->Forbid("/apis/authorization.k8s.io/v1/subjectaccessreviews");
  const Answer refused = asked("gpu-operator/driver-upgrade", server);
  CHECK(refused.err == "upgradectl: create /apis/authorization.k8s.io/v1/subjectaccessreviews: 403: not for you\n");
  CHECK(Preflight({}, {"--rights", "self"}).exit_code == kExitUsage);
}

TEST_CASE("Out of a thousand budgets, a pod is compared only with those that require one of its labels, or no label") {
  driverupgrade::ClusterObjects objects;
  const auto add = [&](const std::string& name, const std::string& selector) {
    const auto parsed = driverupgrade::LabelSelector::Parse(selector);
    REQUIRE(parsed.ok());
    objects.pod_disruption_budgets.push_back({.ns = "shop", .name = name, .selector = *parsed});
  };
  for (int i = 0; i < 1000; ++i) add(fmt::format("b{}", i), fmt::format("app=w{}", i));
  add("any", "app in (w7,w8),tier!=front");
  add("exists", "app");
  add("not", "app!=w7");
  const Facts facts;
  const driverupgrade::whatif::Budgets budgets(objects, facts);
  const driverupgrade::Pod pod{.ref = {.ns = "shop", .name = "p"}, .labels = {{"app", "w7"}, {"tier", "back"}}};
  CHECK(budgets.Candidates(pod).size() == 4);
  Texts names;
  for (const auto* budget : budgets.Of(pod)) names.push_back(budget->name);
  CHECK(names == Texts{"any", "b7", "exists"});
}

// Returns nodes with a driver pod and `pods` other pods each. The other pods belong to workloads of ten pods, each of
// which has a disruption budget that allows one eviction.
std::string BigCleanCluster(int nodes, int pods) {
  std::string items;
  for (int node = 0; node < nodes; ++node) {
    items += fmt::format(R"({{"kind":"Node","metadata":{{"name":"n{0:04}","uid":"u{0}","resourceVersion":"1"}},
"status":{{"conditions":[{{"type":"Ready","status":"True"}}],"allocatable":{{"cpu":"64"}}}}}},
{{"kind":"Pod","metadata":{{"namespace":"gpu-operator","name":"driver-{0}","uid":"d{0}","labels":{{"app":"nvidia-driver-daemonset","controller-revision-hash":"old"}},{1}}},
"spec":{{"nodeName":"n{0:04}"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}]}}}},
)",
                         node, kDriverOwner);
    items += Validator(fmt::format("n{:04}", node)).substr(1) + ",\n";
    for (int pod = 0; pod < pods; ++pod) {
      items += fmt::format(
          R"({{"kind":"Pod","metadata":{{"namespace":"shop","name":"w-{0}-{1}","uid":"w{0}-{1}","labels":{{"app":"w{2}"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"w{2}","uid":"rs{2}","controller":true}}]}},
"spec":{{"nodeName":"n{0:04}","containers":[{{"name":"c","resources":{{"requests":{{"cpu":"1"}}}}}}]}},
"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}]}}}},
)",
          node, pod, (node / 10) * pods + pod);
    }
  }
  for (int workload = 0; workload < nodes / 10 * pods; ++workload) {
    items += fmt::format(
        R"({{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{{"namespace":"shop","name":"w{0}"}},
"spec":{{"selector":{{"matchLabels":{{"app":"w{0}"}}}}}},"status":{{"disruptionsAllowed":1,"currentHealthy":10,"desiredHealthy":9,"expectedPods":10}}}},
)",
        workload);
  }
  return fmt::format(
      R"({{"kind":"List","items":[{}{{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{{"namespace":"gpu-operator","name":"driver","uid":"ds","generation":1,"labels":{{"app":"nvidia-driver-daemonset"}}}},
"spec":{{"selector":{{}},"updateStrategy":{{"type":"OnDelete"}}}},"status":{{"observedGeneration":1}}}}]}})",
      items);
}

TEST_CASE("A large clean cluster has no obstacles, and a single planted obstacle is found") {
  const ScratchFile policy("{autoUpgrade: true, drain: {enable: true, timeoutSeconds: 300}}");
  const std::string clean = BigCleanCluster(500, 29);
  const auto run = [&](const std::string& text) {
    const ScratchFile dump(text);
    return RunWith({"preflight", "--cluster", dump.path(), "--policy", policy.path(), "--fail-on", "warning"});
  };
  CHECK(run(clean).out == "no obstacles found\n");
  const std::string bare =
      R"({"kind":"Pod","metadata":{"namespace":"shop","name":"bare","uid":"b"},"spec":{"nodeName":"n0250"},"status":{"phase":"Running"}},)";
  std::string with_bare = clean;
  with_bare.insert(with_bare.find(R"({"kind":"Pod")"), bare);
  CHECK(run(with_bare).out.find("shop/bare on n0250") != std::string::npos);
}

TEST_CASE("The exit code is suitable for CI: errors fail, and warnings fail only on request") {
  const Scene error{.strategy = "RollingUpdate"};
  const Scene warning{.ready = "False"};
  CHECK(Preflight(error).exit_code == kExitFailed);
  CHECK(Preflight(warning).exit_code == kExitDone);
  CHECK(Preflight(warning, {"--fail-on", "warning"}).exit_code == kExitFailed);
  CHECK(Preflight(error).out ==
        "error UpdateStrategy: Kubernetes replaces the driver's pods on its own, while workloads use them.\n"
        "  do: Set updateStrategy: {type: OnDelete}.\n"
        "  - gpu-operator/driver\n");
}

}  // namespace
}  // namespace upgradectl
