#include "rollout_expectations.h"

#include <algorithm>
#include <chrono>

#include "support.h"
#include "support/catch.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kWitnessDelay{10};
constexpr char kUpgradeDone[] = "upgrade-done";

std::set<std::string> CordonedNodes(const std::map<std::string, NodeVersion>& nodes) {
  std::set<std::string> names;
  for (const auto& [name, node] : nodes) {
    if (node.unschedulable) names.insert(name);
  }
  return names;
}

// Returns whether `key` is one of our keys that must be removed by the end of an upgrade. This does not include the
// annotation that keeps driver managers away from the node, because it remains as long as a policy exists.
bool IsOurKey(const std::string& key) {
  if (key == "nvidia.com/gpu-driver-upgrade-enabled") return false;
  return key.rfind("nvidia.com/gpu-driver-upgrade", 0) == 0 || key.rfind("driverupgrade/", 0) == 0;
}

std::vector<std::string> OurAnnotations(const NodeVersion& node) {
  std::vector<std::string> keys;
  for (const auto& [key, _] : node.annotations) {
    if (IsOurKey(key)) keys.push_back(key);
  }
  return keys;
}

// Returns whether the last version of each node in `timeline` has the same state and cordon as in `nodes`.
bool HasSeen(const NodeTimeline& timeline, const std::map<std::string, NodeVersion>& nodes) {
  const std::map<std::string, NodeVersion> latest = timeline.Latest();
  return std::all_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
    const auto seen = latest.find(entry.first);
    return seen != latest.end() && seen->second.state == entry.second.state &&
           seen->second.unschedulable == entry.second.unschedulable;
  });
}

// Returns the states that a node passes through in an in-place upgrade. A node that an administrator cordoned skips
// uncordon-required, because this cordon stays.
std::vector<std::string> StatesPassed(bool was_cordoned) {
  std::vector<std::string> states = {"upgrade-required",      "cordon-required",      "wait-for-jobs-required",
                                     "pod-deletion-required", "pod-restart-required", "upgrade-done"};
  if (!was_cordoned) states.insert(states.end() - 1, "uncordon-required");
  return states;
}

// Returns the versions that either witness saw. The audit log alone is not sufficient: if the sender of a PATCH was
// killed, the log can lack the resulting node.
NodeTimeline TimelineOf(Rollout& rollout) {
  const std::map<std::string, NodeVersion> nodes = rollout.world.Nodes();
  CHECK(Eventually(kWitnessDelay, [&] { return HasSeen(rollout.watch.Read(), nodes); }));
  NodeTimeline timeline = rollout.audit.Timeline(rollout.nodes_before);
  timeline.Add(rollout.watch.Read());
  return timeline;
}

}  // namespace

Rollout::Rollout(const World& world)
    : world(world),
      nodes_before(world.Nodes()),
      workload_pods_before(world.WorkloadPods()),
      cordoned_before(CordonedNodes(nodes_before)),
      audit(world.control_plane().audit_log()),
      watch(world.control_plane(), world.selector(), nodes_before.size()) {}

void ExpectEveryNodeUpgraded(Rollout& rollout, EndedBy by) {
  const std::map<std::string, NodeVersion> nodes = rollout.world.Nodes();
  CHECK(nodes.size() == rollout.nodes_before.size());
  for (const auto& [name, node] : nodes) {
    INFO(name);
    CHECK(node.state == kUpgradeDone);
    CHECK(node.unschedulable == (rollout.cordoned_before.count(name) == 1));
    if (by == EndedBy::kUs) CHECK(OurAnnotations(node) == std::vector<std::string>());
  }

  const std::string revision = rollout.world.NewestDriverRevision();
  std::set<std::string> nodes_with_driver;
  for (const DriverPod& pod : rollout.world.DriverPods()) {
    INFO(pod.name << " on " << pod.node);
    CHECK(pod.revision == revision);
    CHECK(pod.is_ready);
    CHECK(nodes_with_driver.insert(pod.node).second);
  }
  CHECK(nodes_with_driver.size() == nodes.size());
}

Peaks MeasurePeaks(Rollout& rollout, bool (*holds_slot)(std::string_view)) {
  return TimelineOf(rollout).ComputePeaks(rollout.cordoned_before, holds_slot);
}

void ExpectBudgetsKept(Rollout& rollout, int in_progress_max, int unschedulable_max,
                       bool (*holds_slot)(std::string_view), const std::vector<Turn>& unjudged) {
  const NodeTimeline timeline = TimelineOf(rollout);
  const Peaks peaks = timeline.ComputePeaks(rollout.cordoned_before, holds_slot, unjudged);
  INFO(timeline.Changes());
  CHECK(peaks.in_progress > 0);
  CHECK(peaks.in_progress <= in_progress_max);
  CHECK(peaks.unschedulable <= unschedulable_max);
}

void ExpectWitnessesSawTheEnd(Rollout& rollout) {
  const std::map<std::string, NodeVersion> nodes = rollout.world.Nodes();
  CHECK(Eventually(kWitnessDelay, [&] { return HasSeen(rollout.watch.Read(), nodes); }));
  CHECK(Eventually(kWitnessDelay, [&] {
    return std::all_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
      return rollout.audit.Timeline(rollout.nodes_before).Latest().at(entry.first).state == entry.second.state;
    });
  }));
}

void ExpectWitnessesAgree(Rollout& rollout) {
  const std::map<std::string, NodeVersion> nodes = rollout.world.Nodes();
  const auto audited = [&rollout] { return rollout.audit.Timeline(rollout.nodes_before); };
  CHECK(Eventually(kWitnessDelay, [&] { return HasSeen(rollout.watch.Read(), nodes) && HasSeen(audited(), nodes); }));
  for (const auto& [name, _] : nodes) {
    INFO(name);
    CHECK(rollout.watch.Read().StatesOf(name) == audited().StatesOf(name));
  }
  const Peaks watched_peaks = rollout.watch.Read().ComputePeaks({});
  const Peaks audited_peaks = audited().ComputePeaks({});
  CHECK(watched_peaks.in_progress == audited_peaks.in_progress);
  CHECK(watched_peaks.unschedulable == audited_peaks.unschedulable);
}

void ExpectNothingElseWritten(Rollout& rollout) {
  for (const AuditedRequest& request : rollout.audit.Read()) {
    if (!request.is_write()) continue;
    INFO(request.verb << " " << request.resource << " " << request.ns << "/" << request.name);
    if (request.resource == "pods/eviction") {
      CHECK(request.verb == "create");
      CHECK(request.ns == rollout.world.workload_ns());
    } else if (request.resource == "pods") {
      CHECK(request.verb == "delete");
      CHECK(request.ns == rollout.world.driver_ns());
    } else if (request.resource == "nodes") {
      CHECK(request.verb == "patch");
    } else {
      const std::set<std::string> others = {"events", "leases", "configmaps"};
      CHECK(others.count(request.resource) == 1);
    }
  }
}

void ExpectPodsMovedByEvictionOnly(Rollout& rollout) {
  ExpectNothingElseWritten(rollout);
  std::set<std::string> evicted;
  for (const AuditedRequest& request : rollout.audit.Read()) {
    if (request.resource == "pods/eviction" && request.may_have_been_done()) evicted.insert(request.name);
  }
  for (const std::string& pod : rollout.workload_pods_before) {
    INFO(pod);
    CHECK(evicted.count(pod) == 1);
  }
}

void ExpectUsualRequests(Rollout& rollout, int per_node, int at_start) {
  const std::set<std::string> others = {"pods/eviction", "leases", "events"};
  const std::vector<AuditedRequest>& all = rollout.audit.Read();
  const auto count = std::count_if(all.begin(), all.end(), [&](const AuditedRequest& request) {
    return request.verb != "watch" && others.count(request.resource) == 0;
  });
  const int nodes = static_cast<int>(rollout.nodes_before.size());
  CHECK(count >= nodes);  // each node was patched, so the log contains the rollout
  CHECK(count <= per_node * nodes + at_start);
  for (const auto& [name, _] : rollout.nodes_before) {
    INFO(name);
    CHECK(CountShownGates(rollout.audit, name) == 0);
  }
}

int CountShownGates(AuditLog& audit, const std::string& node) {
  int count = 0;
  std::string shown;
  for (const AuditedRequest& request : audit.Read()) {
    if (!request.node.has_value() || request.node->name != node) continue;
    const auto found = request.node->annotations.find(kWaitingFor);
    const std::string now = found == request.node->annotations.end() ? "" : found->second;
    count += now != shown ? 1 : 0;
    shown = now;
  }
  return count;
}

void ExpectOneEventForEachState(Rollout& rollout) {
  std::map<std::string, std::map<std::string, int>> counts;
  for (const NodeEvent& event : rollout.world.UpgradeEvents()) counts[event.node][event.message] += event.count;
  for (const auto& [name, _] : rollout.nodes_before) {
    INFO(name);
    std::map<std::string, int> state_events;
    for (const auto& [message, count] : counts[name]) {
      if (message.rfind(StateMessage(""), 0) == 0) state_events[message] = count;
    }
    std::map<std::string, int> expected;
    for (const std::string& state : StatesPassed(rollout.cordoned_before.count(name) == 1)) {
      expected[StateMessage(state)] = 1;
    }
    CHECK(state_events == expected);
  }
}

std::string StateMessage(const std::string& state) { return "Successfully updated node state label to " + state; }

}  // namespace driverupgrade::e2e
