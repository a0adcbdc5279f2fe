// Commands that set up the world.
#include <algorithm>

#include "base/status_macros.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "scenarios/scenario_commands.h"
#include "scenarios/scenario_file.h"

namespace driverupgrade::tests {
namespace {

StringMap MapOf(const std::vector<std::pair<std::string, std::string>>& pairs) {
  return StringMap(pairs.begin(), pairs.end());
}

testing::PodBehavior BehaviorOf(Arguments& arguments) {
  testing::PodBehavior behavior;
  behavior.start_delay = arguments.Duration("start").value_or(behavior.start_delay);
  behavior.stop_delay = arguments.Duration("stop").value_or(behavior.stop_delay);
  behavior.unmount_delay = arguments.Duration("unmount").value_or(behavior.unmount_delay);
  behavior.grace_period = arguments.Duration("grace").value_or(behavior.grace_period);
  behavior.run_time = arguments.Duration("run-time").value_or(behavior.run_time);
  return behavior;
}

void SetOwner(const std::string& owner, const std::string& pod, testing::PodBuilder& builder) {
  const std::size_t slash = owner.find('/');
  const std::string kind = owner.substr(0, slash);
  const std::string name = slash == std::string::npos ? pod : owner.substr(slash + 1);
  if (kind == "ReplicaSet") {
    builder.OwnedByReplicaSet(name);
  } else if (kind == "StatefulSet") {
    builder.OwnedByStatefulSet(name);
  } else if (kind == "DaemonSet") {
    builder.OwnedByDaemonSet(name, "1", "uid-" + name);
  } else if (kind == "Job") {
    builder.OwnedByJob(name);
  } else if (kind != "none") {
    throw ScenarioError(fmt::format("no owner kind {}", kind));
  }
}

void SetPhase(const std::string& phase, testing::PodBuilder& builder) {
  if (phase == "Pending") {
    builder.Pending();
  } else if (phase == "Succeeded") {
    builder.Succeeded();
  } else if (phase == "Failed") {
    builder.Failed();
  } else if (phase != "Running") {
    throw ScenarioError(fmt::format("no phase {}", phase));
  }
}

Operation ParseOperation(const std::string& text) {
  static const std::map<std::string, Operation> kOperations = {
      {"list-nodes", Operation::kListNodes},
      {"list-pods", Operation::kListPods},
      {"list-daemon-sets", Operation::kListDaemonSets},
      {"list-controller-revisions", Operation::kListControllerRevisions},
      {"get-node-maintenance", Operation::kGetNodeMaintenance},
      {"list-node-maintenances", Operation::kListNodeMaintenances},
      {"create-node-maintenance", Operation::kCreateNodeMaintenance},
      {"patch-node-maintenance", Operation::kPatchNodeMaintenance},
      {"delete-node-maintenance", Operation::kDeleteNodeMaintenance},
      {"list-device-taint-rules", Operation::kListDeviceTaintRules},
      {"create-device-taint-rule", Operation::kCreateDeviceTaintRule},
      {"patch-device-taint-rule", Operation::kPatchDeviceTaintRule},
      {"delete-device-taint-rule", Operation::kDeleteDeviceTaintRule},
      {"list-resource-claims", Operation::kListResourceClaims},
      {"list-resource-slices", Operation::kListResourceSlices},
      {"patch-node", Operation::kPatchNode},
      {"evict-pod", Operation::kEvictPod},
      {"delete-pod", Operation::kDeletePod},
      {"record-event", Operation::kRecordEvent},
  };
  const auto found = kOperations.find(text);
  if (found == kOperations.end()) throw ScenarioError(fmt::format("no operation {}", text));
  return found->second;
}

absl::StatusCode ParseCode(const std::string& text) {
  for (int code = 1; code <= 16; ++code) {
    const auto status = static_cast<absl::StatusCode>(code);
    std::string name = absl::StatusCodeToString(status);
    name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
    const auto same = [](char a, char b) { return std::toupper(a) == std::toupper(b); };
    if (std::equal(name.begin(), name.end(), text.begin(), text.end(), same)) return status;
  }
  throw ScenarioError(fmt::format("no status code {}", text));
}

}  // namespace

std::string Scenario::Cluster(Arguments& arguments) {
  testing::FakeClusterOptions options;
  options.template_delay = arguments.Duration("template-delay").value_or(options.template_delay);
  options.controller_delay = arguments.Duration("controller-delay").value_or(options.controller_delay);
  options.pod_gc_delay = arguments.Duration("pod-gc-delay").value_or(options.pod_gc_delay);
  options.crash_backoff_max = arguments.Duration("crash-backoff-max").value_or(options.crash_backoff_max);
  if (!cluster().nodes().empty()) throw ScenarioError("`cluster` comes first");
  world_ = std::make_unique<ScenarioWorld>(options, over_, before_pass_);
  return {};
}

// Sets a policy. The rest of the line is YAML, optionally preceded by `driver=`.
std::string Scenario::Policy(std::string_view text) {
  std::string name = "gpu";
  if (text.starts_with("driver=")) {
    name = text.substr(7, text.find(' ') - 7);
    text.remove_prefix(std::min(text.size(), 8 + name.size()));
  }
  const absl::StatusOr<UpgradePolicy> policy =
      ParseUpgradePolicy(fmt::format("{{{}}}", text), PolicyDefaults{.auto_upgrade = true});
  if (!policy.ok()) throw ScenarioError(policy.status().ToString());
  ScenarioDriver& driver = world_->driver(name);
  // An engine watches devices from its start, so a change to the scope requires a new engine.
  if (policy->isolation.scope != driver.policy.isolation.scope) driver.engine = nullptr;
  driver.policy = *policy;
  // The ledger contains the record of a rollout in addition to the grants.
  if (policy->rollout && !std::exchange(driver.has_ledger, true)) driver.engine = nullptr;
  return {};
}

// Returns the error for an invalid policy. The previous policy stays in effect.
std::string Scenario::RefusedPolicy(std::string_view text) {
  const absl::Status refused = ParseUpgradePolicy(fmt::format("{{{}}}", text)).status();
  if (refused.ok()) throw ScenarioError("the policy is accepted");
  return std::string(refused.message()) + "\n";
}

std::string Scenario::Options(Arguments& arguments) {
  ScenarioDriver& driver = DriverOf(arguments);
  driver.options.validation_selector = arguments.Selector("validation");
  if (const auto early = arguments.Value("early-validation")) {
    driver.options.early_validation = ParseEarlyValidation(*early).value_or(EarlyValidation::kAsk);
  }
  driver.pod_filter = arguments.Selector("uses-driver");
  driver.pod_filter_failures.clear();
  if (const auto pod = arguments.Value("filter-fails")) driver.pod_filter_failures = {*pod};
  driver.restart_only_fails = arguments.Flag("restart-only-fails");
  driver.restart_only = arguments.Flag("restart-only") || driver.restart_only_fails;
  if (const auto id = arguments.Value("requestor")) {
    driver.options.requestor = RequestorOptions{.id = *id,
                                                .ns = arguments.Value("requestor-namespace").value_or("default"),
                                                .enabled = !arguments.Flag("requestor-off")};
  }
  driver.options.own_node = arguments.Value("own-node").value_or("");
  if (const auto pod = arguments.Value("own-pod")) driver.options.own_pod = ParseName(*pod);
  driver.engine = nullptr;
  return {};
}

std::string Scenario::Node(Arguments& arguments) {
  const std::vector<std::string> names =
      arguments.Words({"cordoned", "not-ready", "terminating", "label", "annotation"});
  if (names.empty()) throw ScenarioError("the node's name is missing");
  const bool cordoned = arguments.Flag("cordoned");
  const bool not_ready = arguments.Flag("not-ready");
  const bool terminating = arguments.Flag("terminating");
  const auto taint = arguments.Value("taint");
  const auto state = arguments.Value("state");
  const auto labels = arguments.Pairs("label");
  const auto annotations = arguments.Pairs("annotation");
  for (const std::string& name : names) {
    testing::NodeBuilder builder(name);
    builder.WithUid("uid-" + name);
    if (cordoned) builder.Cordoned();
    if (not_ready) builder.NotReady();
    if (state) builder.WithLabel(Key("-state"), *state);
    for (const auto& [key, value] : labels) builder.WithLabel(Key(key), value);
    for (const auto& [key, value] : annotations) builder.WithAnnotation(Key(key), value);
    driverupgrade::Node node = builder.Build();
    if (terminating) node.deletion_timestamp = world_->clock()->Now();
    if (taint) node.taints = {{.key = *taint, .effect = "NoSchedule"}};
    cluster().AddNode(std::move(node));
  }
  return {};
}

std::string Scenario::DriverDaemonSet(Arguments& arguments) {
  ScenarioDriver& driver = DriverOf(arguments);
  testing::DaemonSetSpec spec{.ns = driver.ns,
                              .name = arguments.Value("name").value_or("driver"),
                              .labels = {{"app", "driver"}},
                              .match_labels = {{"app", "driver"}},
                              .node_selector = MapOf(arguments.Pairs("on")),
                              .hash = arguments.Value("hash").value_or("old"),
                              .template_json = TemplateJson(arguments)};
  if (const std::optional<std::string> key = arguments.Value("tolerates")) {
    spec.tolerations = std::vector<Toleration>{{.key = *key, .op = "Exists"}};
  }
  spec.on_delete = !arguments.Flag("rolling-update");
  spec.behavior = BehaviorOf(arguments);
  cluster().AddDaemonSet(spec);
  return {};
}

// Changes a node's driver pod, or creates a driver pod on the node.
std::string Scenario::DriverPod(Arguments& arguments) {
  const ScenarioDriver& driver = DriverOf(arguments);
  const std::string node = arguments.Word("the node's name");
  const auto hash = arguments.Value("hash");
  const bool orphan = arguments.Flag("orphan");
  const bool not_ready = arguments.Flag("not-ready");
  const bool ready = arguments.Flag("ready");
  const auto crashing = arguments.Number("crashing");
  if (arguments.Flag("second")) {
    testing::PodBuilder builder(driver.ns, "driver-second");
    builder.OnNode(node).WithLabel("app", "driver");
    if (hash) builder.WithLabel("controller-revision-hash", *hash);
    cluster().AddPod(builder.Build());
    return {};
  }
  bool found = false;
  for (const auto& pod : cluster().pods()) {
    if (pod.ref.ns != driver.ns || pod.node_name != node) continue;
    found = true;
    cluster().EditPod(pod.ref.ns, pod.ref.name, [&](auto& edited) {
      if (hash) edited.labels["controller-revision-hash"] = *hash;
      if (hash == "none") edited.labels.erase("controller-revision-hash");
      if (orphan) edited.owners.clear();
      for (ContainerStatus& status : edited.container_statuses) {
        if (ready) status.ready = true;
        if (not_ready || crashing) status.ready = false;
        if (crashing) status.restart_count = *crashing;
      }
    });
  }
  RequireObject(found, "driver pod on " + node);
  return {};
}

std::string Scenario::Pod(Arguments& arguments) {
  const PodRef ref = ParseName(arguments.Word("the pod's name"));
  testing::PodBuilder builder(ref.ns, ref.name);
  builder.OnNode(arguments.Value("node").value_or("n1"));
  SetPhase(arguments.Value("phase").value_or("Running"), builder);
  SetOwner(arguments.Value("owner").value_or("none"), ref.name, builder);
  for (const auto& [key, value] : arguments.Pairs("label")) builder.WithLabel(key, value);
  for (const auto& [key, value] : arguments.Pairs("annotation")) builder.WithAnnotation(key, value);
  if (arguments.Flag("emptydir")) builder.WithEmptyDir();
  if (arguments.Flag("mirror")) builder.Mirror();
  if (arguments.Flag("tolerates-cordon")) builder.ToleratingCordon(world_->clock()->Now());
  if (arguments.Flag("ended")) builder.WithEndedContainers();
  if (arguments.Flag("not-ready")) builder.NotReady();
  if (const auto finalizer = arguments.Value("finalizer")) builder.WithFinalizer(*finalizer);
  if (const auto ahead = arguments.Duration("terminating")) builder.Terminating(world_->clock()->Now() + *ahead);
  driverupgrade::Pod pod = builder.Build();
  pod.affinity_node_name = arguments.Value("affinity").value_or("");
  pod.unscheduled_message = arguments.Value("unscheduled").value_or("");
  cluster().AddPod(std::move(pod), BehaviorOf(arguments));
  return {};
}

// Publishes devices on nodes, as the plugin of each node would.
std::string Scenario::Devices(Arguments& arguments) {
  const std::vector<std::string> nodes = arguments.Words({});
  const int count = arguments.Number("count").value_or(8);
  for (const std::string& node : nodes) {
    ResourceSlice slice{.node_name = node, .driver = kDeviceDriver};
    for (int i = 0; i < count; ++i) slice.devices.push_back({.name = fmt::format("gpu-{}", i)});
    cluster().PublishDevices(std::move(slice));
  }
  return {};
}

std::string Scenario::Workload(Arguments& arguments) {
  const PodRef ref = ParseName(arguments.Word("the workload's name"));
  testing::WorkloadSpec spec{.ns = ref.ns, .name = ref.name};
  if (arguments.Flag("stateful")) spec.kind = testing::WorkloadSpec::Kind::kStatefulSet;
  spec.labels = MapOf(arguments.Pairs("label"));
  spec.node_selector = MapOf(arguments.Pairs("on"));
  spec.replicas = arguments.Number("replicas").value_or(1);
  spec.has_empty_dir = arguments.Flag("emptydir");
  spec.tolerates_cordon = arguments.Flag("tolerates-cordon");
  if (const auto devices = arguments.Number("devices")) {
    spec.devices = testing::DeviceRequest{.driver = kDeviceDriver, .count = *devices};
  }
  spec.behavior = BehaviorOf(arguments);
  cluster().AddWorkload(spec);
  return {};
}

std::string Scenario::Budget(Arguments& arguments) {
  const PodRef ref = ParseName(arguments.Word("the budget's name"));
  if (arguments.Flag("removed")) {
    RequireObject(cluster().RemoveDisruptionBudget(ref.ns, ref.name), ref.ToString());
    return {};
  }
  testing::DisruptionBudgetSpec spec{.ns = ref.ns, .name = ref.name};
  spec.selector = arguments.Selector("selector").value_or(LabelSelector());
  spec.min_available = arguments.Number("min-available");
  spec.max_unavailable = arguments.Number("max-unavailable");
  spec.processed = !arguments.Flag("unprocessed");
  cluster().AddDisruptionBudget(spec);
  return {};
}

std::string Scenario::MaintenanceOperator(Arguments& arguments) {
  testing::MaintenanceOperatorOptions options;
  options.step_delay = arguments.Duration("delay").value_or(options.step_delay);
  options.parallel = arguments.Number("parallel");
  cluster().RunMaintenanceOperator(options);
  return {};
}

// Adds an object that another client has created. An object with a reason has its node as owner, because the
// maintenance operator has already processed it.
std::string Scenario::Maintenance(Arguments& arguments) {
  const std::string node_name = arguments.Word("the node's name");
  const std::string prefix = arguments.Value("prefix").value_or("nvidia-operator");
  NodeMaintenance maintenance{.ns = arguments.Value("ns").value_or("default"),
                              .name = fmt::format("{}-{}", prefix, node_name),
                              .uid = fmt::format("uid-{}-{}", prefix, node_name),
                              .node_name = node_name};
  const auto requestor = arguments.Value("requestor");
  if (!requestor) throw ScenarioError("requestor=.. is missing");
  maintenance.requestor_id = *requestor;
  for (std::string rest = arguments.Value("additional").value_or(""); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    maintenance.additional_requestors.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  if (const auto reason = arguments.Value("reason")) {
    maintenance.conditions = {{.type = "Ready",
                               .status = *reason == "Ready" ? "True" : "False",
                               .reason = *reason,
                               .last_transition_time = world_->clock()->Now()}};
    if (const auto node = cluster().node(node_name)) maintenance.node_uid = node->uid;
  }
  if (const auto uid = arguments.Value("node-uid")) maintenance.node_uid = *uid;
  if (arguments.Flag("terminating")) maintenance.deletion_timestamp = world_->clock()->Now();
  cluster().AddNodeMaintenance(maintenance);
  return {};
}

std::string Scenario::Fault(Arguments& arguments) {
  world_->NoteFault();
  const Operation operation = ParseOperation(arguments.Word("the operation"));
  const std::string what = arguments.Word("the status code");
  const int times = arguments.Number("times").value_or(1);
  if (what == "throttled") {
    cluster().AnswerNextEviction({.refusal = Refusal::kThrottled,
                                  .retry_after = arguments.Duration("retry-after").value_or(absl::ZeroDuration())},
                                 times);
  } else if (const auto object = arguments.Value("on")) {
    world_->PlanFault({.operation = operation,
                       .object = *object,
                       .status = absl::Status(ParseCode(what), "injected"),
                       .times = times});
  } else if (const absl::Status status(ParseCode(what), "injected"); arguments.Flag("applied")) {
    cluster().FailNextAfterApplying(operation, status, times);
  } else {
    cluster().FailNext(operation, status, times);
  }
  return {};
}

}  // namespace driverupgrade::tests
