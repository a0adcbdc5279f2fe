#include "scenarios/scenario_commands.h"

#include "fmt/format.h"
#include "scenarios/scenario_file.h"
#include "scenarios/scenario_text.h"

namespace driverupgrade::tests {
namespace {

// Sets a key of the map, or removes the key if there is no value.
void EditMap(StringMap& map, const std::string& key, const std::optional<std::string>& value) {
  if (value) {
    map[key] = *value;
  } else {
    map.erase(key);
  }
}

// Returns true if all nodes of `driver` have reached the state in `wanted`, or only the node before the colon if
// `wanted` contains a colon.
bool Reached(const std::string& wanted, testing::FakeCluster& cluster, const ScenarioDriver& driver) {
  const std::size_t colon = wanted.find(':');
  const std::string state = colon == std::string::npos ? wanted : wanted.substr(colon + 1);
  for (const auto& node : cluster.nodes()) {
    if (colon != std::string::npos && node.name != wanted.substr(0, colon)) continue;
    const auto label = node.labels.find(driver.identity.StateLabel());
    if (label == node.labels.end() || label->second != state) return false;
  }
  return true;
}

// Returns `text` with `prefix` before each line.
std::string WithPrefix(const std::string& text, const std::string& prefix) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    result += prefix + text.substr(at, end - at);
    at = end;
  }
  return result;
}

}  // namespace

void RequireObject(bool found, std::string_view object) {
  if (!found) throw ScenarioError(fmt::format("there is no {}", object));
}

const std::map<std::string_view, Scenario::Command>& Scenario::Commands() {
  static const std::map<std::string_view, Command> kCommands = {
      {"cluster", &Scenario::Cluster},
      {"options", &Scenario::Options},
      {"node", &Scenario::Node},
      {"driver", &Scenario::DriverDaemonSet},
      {"driver-pod", &Scenario::DriverPod},
      {"pod", &Scenario::Pod},
      {"devices", &Scenario::Devices},
      {"workload", &Scenario::Workload},
      {"budget", &Scenario::Budget},
      {"maintenance-operator", &Scenario::MaintenanceOperator},
      {"maintenance", &Scenario::Maintenance},
      {"fault", &Scenario::Fault},
      {"template", &Scenario::Template},
      {"approve", &Scenario::Approve},
      {"rollout", &Scenario::Rollout},
      {"crash", &Scenario::Crash},
      {"admin", &Scenario::Admin},
      {"advance", &Scenario::Advance},
      {"restart-engine", &Scenario::Restart},
      {"step", &Scenario::Step},
      {"release", &Scenario::Release},
      {"run", &Scenario::RunPasses},
      {"show", &Scenario::Show},
      {"totals", &Scenario::Totals},
      {"pods", &Scenario::Pods},
      {"maintenances", &Scenario::Maintenances},
      {"events", &Scenario::Events},
      {"expect-stuck", &Scenario::ExpectStuck},
  };
  return kCommands;
}

std::string Scenario::Run(const std::string& line) {
  const std::size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (name == "policy") return Policy(rest);
  if (name == "refused-policy") return RefusedPolicy(rest);
  const auto command = Commands().find(name);
  if (command == Commands().end()) throw ScenarioError(fmt::format("no command `{}`", name));
  Arguments arguments(rest);
  std::string text = (this->*command->second)(arguments);
  arguments.Finish();
  return world_->Readable(std::move(text));
}

ScenarioDriver& Scenario::DriverOf(Arguments& arguments) {
  return world_->driver(arguments.Value("driver").value_or("gpu"));
}

std::string Scenario::Key(const std::string& text) {
  if (text == "cordoned-by") return std::string(kCordonedByAnnotation);
  const std::size_t colon = text.find(':');
  const std::string driver = colon == std::string::npos ? "gpu" : text.substr(0, colon);
  const std::string suffix = colon == std::string::npos ? text : text.substr(colon + 1);
  if (!suffix.starts_with('.') && !suffix.starts_with('-')) return text;
  return fmt::format("nvidia.com/{}-driver-upgrade{}", driver, suffix);
}

// [image=IMAGE] [restarted-at=TEXT]: returns an empty string if no image is given.
std::string Scenario::TemplateJson(Arguments& arguments) {
  const auto image = arguments.Value("image");
  const auto restarted = arguments.Value("restarted-at");
  if (!image) return {};
  const std::string annotations =
      restarted ? fmt::format(R"("kubectl.kubernetes.io/restartedAt":"{}")", *restarted) : std::string();
  return fmt::format(R"({{"metadata":{{"annotations":{{{}}}}},"spec":{{"containers":[{{"image":"{}"}}]}}}})",
                     annotations, *image);
}

std::string Scenario::Template(Arguments& arguments) {
  const std::string hash = arguments.Word("the hash");
  const std::string ns = DriverOf(arguments).ns;
  const std::string name = arguments.Value("name").value_or("driver");
  RequireObject(cluster().SetTemplate(ns, name, hash, TemplateJson(arguments)), ns + "/" + name);
  return {};
}

// approve [TEXT]: sets the approval annotation of the DaemonSet. Without TEXT, removes the annotation.
std::string Scenario::Approve(Arguments& arguments) {
  ScenarioDriver& driver = DriverOf(arguments);
  const std::vector<std::string> approvals = arguments.Words({});
  RequireObject(cluster().EditDaemonSet(driver.ns, "driver",
                                        [&](DaemonSet& daemon_set) {
                                          const std::string& key = driver.identity.ApprovedAnnotation();
                                          daemon_set.annotations.erase(key);
                                          if (!approvals.empty()) {
                                            daemon_set.annotations[key] = fmt::format("{}", fmt::join(approvals, ","));
                                          }
                                        }),
                driver.ns + "/driver");
  return {};
}

std::string Scenario::Rollout(Arguments& arguments) { return RolloutText(DriverOf(arguments).last_plan); }

// crash hash=new [node=n1] | crash off
std::string Scenario::Crash(Arguments& arguments) {
  const std::string ns = DriverOf(arguments).ns;
  if (arguments.Flag("off")) {
    RequireObject(cluster().ClearCrashRules(ns, "driver"), "crash rule");
    return {};
  }
  const std::string hash = arguments.Value("hash").value_or("");
  RequireObject(cluster().AddCrashRule(ns, "driver", hash, arguments.Value("node").value_or("")), ns + "/driver");
  return {};
}

std::string Scenario::Admin(Arguments& arguments) {
  const std::string verb = arguments.Word("the verb");
  const std::string object = arguments.Word("the object");
  const auto edit_pod = [&](const std::function<void(driverupgrade::Pod&)>& edit) {
    const PodRef ref = ParseName(object);
    return cluster().EditPod(ref.ns, ref.name, edit);
  };
  bool found = false;
  if (verb == "cordon") {
    found = cluster().Cordon(object);
  } else if (verb == "uncordon") {
    found = cluster().Uncordon(object);
  } else if (verb == "ready" || verb == "not-ready") {
    found = cluster().SetNodeReady(object, verb == "ready");
  } else if (verb == "terminate-node") {
    const absl::Time now = world_->clock()->Now();
    found = cluster().EditNode(object, [&](driverupgrade::Node& node) { node.deletion_timestamp = now; });
  } else if (verb == "taint") {
    const std::optional<std::string> key = arguments.Value("key");
    found = cluster().EditNode(object, [&](driverupgrade::Node& node) {
      node.taints = key ? std::vector{Taint{.key = *key, .effect = "NoSchedule"}} : std::vector<Taint>();
    });
  } else if (verb == "remove-node") {
    found = cluster().RemoveNode(object);
  } else if (verb == "finish-pod") {
    found = edit_pod([](driverupgrade::Pod& pod) { pod.phase = PodPhase::kSucceeded; });
  } else if (verb == "pod-ready" || verb == "pod-not-ready") {
    const PodRef ref = ParseName(object);
    found = cluster().SetPodReady(ref.ns, ref.name, verb == "pod-ready");
  } else if (verb == "remove-pod") {
    const PodRef ref = ParseName(object);
    found = cluster().RemovePod(ref.ns, ref.name);
  } else if (verb == "remove-driver-pod") {
    const std::string ns = DriverOf(arguments).ns;
    for (const auto& pod : cluster().daemon_set_pods(ns, "driver")) {
      if (pod.node_name == object) found |= cluster().RemovePod(ns, pod.ref.name);
    }
  } else if (verb == "remove-daemon-set") {
    found = cluster().RemoveDaemonSet(DriverOf(arguments).ns, object, arguments.Flag("orphan"));
  } else if (verb == "remove-maintenance") {
    for (const NodeMaintenance& maintenance : cluster().node_maintenances()) {
      if (maintenance.name == object) found |= cluster().RemoveNodeMaintenance(maintenance.ns, maintenance.name);
    }
  } else if (verb == "remove-ledger") {
    found = cluster().RemoveConfigMap(object, "ledger");
  } else if (verb == "terminate-namespace") {
    cluster().TerminateNamespace(object);
    found = true;
  } else if (verb == "label" || verb == "annotate" || verb == "condition") {
    std::optional<std::string> key = arguments.Value("remove");
    std::optional<std::string> value;
    if (!key) {
      key = arguments.Value("key");
      value = arguments.Value("value");
      if (!key || !value) throw ScenarioError("key=.. value=.. or remove=.. is missing");
    }
    found = cluster().EditNode(object, [&](driverupgrade::Node& node) {
      StringMap& map = verb == "label" ? node.labels : verb == "annotate" ? node.annotations : node.conditions;
      EditMap(map, Key(*key), value);
    });
  } else {
    throw ScenarioError(fmt::format("an administrator cannot {}", verb));
  }
  RequireObject(found, object);
  return {};
}

std::string Scenario::Advance(Arguments& arguments) {
  cluster().Advance(ParseDuration(arguments.Word("the duration")));
  return {};
}

std::string Scenario::Restart(Arguments& arguments) {
  ScenarioDriver& driver = DriverOf(arguments);
  driver.engine = nullptr;
  driver.released = false;
  return {};
}

std::string Scenario::Step(Arguments& arguments) {
  const absl::StatusOr<ReconcileResult> result = world_->Pass(DriverOf(arguments));
  return result.ok() ? PassText(*result) : fmt::format("error: {}\n", result.status().ToString());
}

// release: releases all nodes, as if the operator were being removed (dep-F9).
std::string Scenario::Release(Arguments& arguments) {
  const absl::StatusOr<ReconcileResult> result = world_->Release(DriverOf(arguments));
  return result.ok() ? PassText(*result) : fmt::format("error: {}\n", result.status().ToString());
}

// run [for=10m] [until=[NODE:]STATE] [driver=NAME]: runs a pass every second until all work is done. The passes are for
// the driver NAME (default: all drivers used so far).
std::string Scenario::RunPasses(Arguments& arguments) {
  const absl::Time end = world_->clock()->Now() + arguments.Duration("for").value_or(absl::Minutes(30));
  const auto until = arguments.Value("until");
  const auto only = arguments.Value("driver");
  if (world_->drivers().empty()) world_->driver("gpu");
  std::string text;
  while (true) {
    std::string waits;
    bool moved = false;
    bool reached = false;
    for (auto& [name, driver] : world_->drivers()) {
      if (driver.released || (only && name != *only)) continue;
      const absl::StatusOr<ReconcileResult> result = world_->Pass(driver);
      if (!result.ok()) {
        text += fmt::format("error: {}\n", result.status().ToString());
        continue;
      }
      const std::string who = world_->drivers().size() > 1 ? name + " " : "";
      const std::string transitions = TransitionsText(*result, world_->clock()->Now());
      text += WithPrefix(transitions, who);
      waits += WithPrefix(GatesText(result->plan), who);
      moved |= !result->plan.nodes.empty();
      reached |= until && Reached(*until, cluster(), driver);
    }
    if (reached) return text;
    if (!moved && world_->AllDone()) return until ? text + "not reached\n" : text;
    if (world_->clock()->Now() >= end) {
      return fmt::format("{}t={}\n{}", text, absl::ToUnixSeconds(world_->clock()->Now()), waits);
    }
    cluster().Advance(absl::Seconds(1));
  }
}

std::string Scenario::Show(Arguments& arguments) {
  const ScenarioDriver& driver = DriverOf(arguments);
  const std::vector<std::string> names = arguments.Words({});
  std::string text;
  for (const auto& node : cluster().nodes()) {
    if (names.empty() || std::find(names.begin(), names.end(), node.name) != names.end()) {
      text += NodeText(node, driver.identity);
    }
  }
  return text;
}

std::string Scenario::Totals(Arguments& arguments) { return TotalsText(DriverOf(arguments).last_plan); }

std::string Scenario::Pods(Arguments& arguments) {
  const auto ns = arguments.Value("ns");
  std::string text;
  for (const auto& pod : cluster().pods()) {
    if (!ns || pod.ref.ns == *ns) text += PodText(pod);
  }
  return text;
}

std::string Scenario::Maintenances(Arguments&) {
  std::string text;
  for (const NodeMaintenance& maintenance : cluster().node_maintenances()) text += MaintenanceText(maintenance);
  return text.empty() ? "none\n" : text;
}

// events: prints the Events since the last call.
std::string Scenario::Events(Arguments&) {
  const std::vector<RecordEventParams> events = cluster().events();
  std::string text;
  for (; events_shown_ < events.size(); ++events_shown_) {
    const RecordEventParams& event = events[events_shown_];
    text += fmt::format("{} {}{}: {}\n", event.node_name, event.type == EventType::kWarning ? "Warning " : "",
                        event.reason, event.message);
  }
  return text;
}

std::string Scenario::ExpectStuck(Arguments& arguments) {
  for (const std::string& name : arguments.Words({})) world_->ExpectStuck(name);
  return {};
}

}  // namespace driverupgrade::tests
