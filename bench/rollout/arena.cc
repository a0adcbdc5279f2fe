#include "rollout/arena.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include "absl/time/clock.h"
#include "controlplane/go_library.h"
#include "controlplane/json.h"
#include "controlplane/support.h"
#include "fmt/format.h"

namespace driverupgrade::bench {
namespace {

constexpr std::chrono::seconds kSettleLimit{180};
constexpr int kSettledNodesPerSecond = 2;         // minimum, because controllers limit their request rate
constexpr std::chrono::minutes kAfterTimeout{1};  // time for a program to exit after its timeout
// Time for controllers and garbage collection to finish, and for the audit log's last lines to be written.
constexpr std::chrono::seconds kQuiet{1};
constexpr int kLogLines = 10;

e2e::Workload OnePodForEachNode(int nodes) {
  e2e::Workload workload;
  workload.replicas = nodes;
  return workload;
}

bool IsReady(const rapidjson::Value& pod) {
  const auto conditions = e2e::Items(pod, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [](const rapidjson::Value& condition) {
    return e2e::Text(condition, {"type"}) == "Ready" && e2e::Text(condition, {"status"}) == "True";
  });
}

// Returns true if the node is in its final state. The limit program removes the state label; the other programs set it
// to upgrade-done.
bool IsDone(const e2e::NodeVersion& node) {
  return !node.unschedulable && (node.state.empty() || node.state == "upgrade-done");
}

absl::Time TimeOf(const std::string& text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) throw std::runtime_error("audit log: " + error);
  return time;
}

bool IsPatchOfNode(const e2e::AuditedRequest& request) {
  return request.verb == "patch" && request.resource == "nodes";
}

std::string KindOf(const e2e::AuditedRequest& request) {
  const bool carried_out = request.code < 300;
  return carried_out ? request.verb + " " + request.resource
                     : fmt::format("{} {} {}", request.verb, request.resource, request.code);
}

}  // namespace

Arena::Arena(int nodes) : world_(control_plane_, "bench", nodes) {
  e2e::GrantGoLibrary(control_plane_);
  world_.DeployDriver();
  world_.Deploy(OnePodForEachNode(nodes));
}

Run Arena::Measure(const Program& program) {
  SpreadWorkload();
  ChangeDriver();
  std::this_thread::sleep_for(kQuiet);

  e2e::AuditLog audit(control_plane_.audit_log());
  const absl::Time start = absl::Now();
  const e2e::Usage usage = RunToEnd(program);
  std::optional<absl::Time> end;
  if (!e2e::Eventually(kQuiet, [&] { return (end = FindEnd(audit)).has_value(); })) {
    throw NotDone(program.name + " exited before every node was done");
  }
  ExpectRolledOut();

  Run run;
  run.usage = usage;
  run.seconds = absl::ToDoubleSeconds(*end - start);
  absl::Time first_patch = *end;
  for (const e2e::AuditedRequest& request : audit.Read()) {
    ++run.requests[KindOf(request)];
    if (IsPatchOfNode(request)) first_patch = std::min(first_patch, TimeOf(request.received));
  }
  run.first_patch_seconds = absl::ToDoubleSeconds(first_patch - start);
  return run;
}

std::chrono::seconds Arena::SettleLimit() const {
  return std::max(kSettleLimit, std::chrono::seconds(nodes() / kSettledNodesPerSecond));
}

// Creates the workload's pods again, so that each node has one pod. After a rollout, the pods are unevenly distributed:
// they are on the nodes that were done first, where the next rollout would have to evict more pods.
void Arena::SpreadWorkload() const {
  const std::set<std::string> old_pods = world_.WorkloadPods();
  const std::string pods = "/api/v1/namespaces/" + world_.workload_ns() + "/pods";
  control_plane_.admin().Must({"delete", "--raw", pods + "?gracePeriodSeconds=0"});
  const auto is_spread = [&] {
    const rapidjson::Document list = control_plane_.admin().Get({"pods", "--namespace=" + world_.workload_ns()});
    const auto items = e2e::Items(list, {"items"});
    return static_cast<int>(items.Size()) == nodes() &&
           std::all_of(items.begin(), items.end(), [&](const rapidjson::Value& pod) {
             return IsReady(pod) && old_pods.count(e2e::Text(pod, {"metadata", "name"})) == 0;
           });
  };
  if (!e2e::Eventually(SettleLimit(), is_spread)) throw std::runtime_error("the workload does not become Ready");
}

void Arena::ChangeDriver() {
  world_.ChangeDriver(fmt::format("driver:{}", ++revision_));
  const auto is_observed = [this] {
    const rapidjson::Document driver =
        control_plane_.admin().Get({"daemonset", "driver", "--namespace=" + world_.driver_ns()});
    return e2e::Integer(driver, {"status", "observedGeneration"}) == e2e::Integer(driver, {"metadata", "generation"});
  };
  if (!e2e::Eventually(SettleLimit(), is_observed))
    throw std::runtime_error("the change of the driver's DaemonSet was not observed");
}

e2e::Usage Arena::RunToEnd(const Program& program) {
  e2e::ProcessOptions options;
  options.out = control_plane_.folder() / fmt::format("run-{}", revision_);
  e2e::Process process(CommandLine(program, world_), options);
  const std::optional<int> exit_code = process.Wait(program.timeout + kAfterTimeout);
  if (exit_code == 0) return process.usage();
  throw NotDone(fmt::format("{}: {}: {}", program.name,
                            exit_code ? fmt::format("exit code {}", *exit_code) : "does not exit",
                            e2e::LastLines(options.out, kLogLines)));
}

std::optional<absl::Time> Arena::FindEnd(e2e::AuditLog& audit) const {
  // Sorted in write order, which differs from response order.
  std::map<std::uint64_t, const e2e::AuditedRequest*> writes;
  for (const e2e::AuditedRequest& request : audit.Read()) {
    if (request.node.has_value()) writes.emplace(request.node->version, &request);
  }
  std::map<std::string, std::string> done;  // node -> time of completion; the strings sort chronologically
  for (const auto& [_, request] : writes) {
    if (IsDone(*request->node)) {
      done.emplace(request->node->name, request->answered);
    } else {
      done.erase(request->node->name);
    }
  }
  if (static_cast<int>(done.size()) != nodes()) return std::nullopt;
  const auto last = std::max_element(done.begin(), done.end(),
                                     [](const auto& one, const auto& other) { return one.second < other.second; });
  return TimeOf(last->second);
}

void Arena::ExpectRolledOut() const {
  const std::string newest = world_.NewestDriverRevision();
  const std::vector<e2e::DriverPod> pods = world_.DriverPods();
  const bool is_rolled_out = std::all_of(
      pods.begin(), pods.end(), [&](const e2e::DriverPod& pod) { return pod.is_ready && pod.revision == newest; });
  if (!is_rolled_out || static_cast<int>(pods.size()) != nodes()) {
    throw NotDone("a node does not have exactly one Ready driver pod of the newest revision");
  }
}

}  // namespace driverupgrade::bench
