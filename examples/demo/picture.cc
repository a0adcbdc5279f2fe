#include "demo/picture.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace demo {
namespace {

using driverupgrade::testing::FakeCluster;
using upgradectl::EventFact;
using upgradectl::NodeStatus;
using upgradectl::RolloutStatus;

std::vector<EventFact> EventsOf(const FakeCluster& cluster, const std::string& reason) {
  std::vector<EventFact> facts;
  for (const driverupgrade::RecordEventParams& event : cluster.stored_events()) {
    if (event.reason != reason || event.pod) continue;
    facts.push_back({.node = event.node_name,
                     .warning = event.type == driverupgrade::EventType::kWarning,
                     .message = event.message,
                     .last = event.time,
                     .count = event.series ? event.series->count : 1});
  }
  std::stable_sort(facts.begin(), facts.end(), [](const EventFact& a, const EventFact& b) { return a.last < b.last; });
  return facts;
}

std::string Line(const NodeStatus& node) {
  const std::string driver = node.pod.empty() ? "-" : node.revision + (node.pod_ready ? " ready" : " not ready");
  const std::string gate =
      node.gate ? fmt::format("{}: {}", driverupgrade::ToString(node.gate->reason), node.gate->detail) : "";
  return fmt::format("{:<8} {:<21} {:<9} {:<16} {}", node.name, driverupgrade::ToString(node.state),
                     node.cordoned ? "cordoned" : "", driver, gate);
}

}  // namespace

absl::StatusOr<upgradectl::Request> ReadCluster(FakeCluster& cluster, const driverupgrade::DriverIdentity& identity,
                                                const driverupgrade::SnapshotOptions& snapshot,
                                                const driverupgrade::UpgradePolicy& policy) {
  auto revisions = cluster.ListControllerRevisions({}, {.ns = snapshot.ns});
  if (!revisions.ok()) return revisions.status();
  upgradectl::Request request{.question = {.identity = identity,
                                           .snapshot = snapshot,
                                           .policy = policy,
                                           .cluster = {.nodes = cluster.nodes(),
                                                       .pods = cluster.pods(),
                                                       .daemon_sets = cluster.daemon_sets(),
                                                       .controller_revisions = *std::move(revisions),
                                                       .pod_disruption_budgets = cluster.disruption_budgets()},
                                           .at = cluster.Now()},
                              .place = {.ns = snapshot.ns},
                              .policy_source = "the demo's"};
  request.facts.events = EventsOf(cluster, identity.EventReason());
  return request;
}

void Picture::Show(const RolloutStatus& status, absl::Duration elapsed) {
  if (screen_.columns > 0) {
    Draw(status);
  } else {
    PrintChanges(status, elapsed);
  }
  std::fflush(stdout);
}

void Picture::Draw(const RolloutStatus& status) {
  if (lines_drawn_ > 0) fmt::print("\x1b[{}A\x1b[J", lines_drawn_);
  const std::string text = upgradectl::FormatStatus(status, /*wide=*/false, screen_);
  fmt::print("{}", text);
  lines_drawn_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void Picture::PrintChanges(const RolloutStatus& status, absl::Duration elapsed) {
  for (const NodeStatus& node : status.nodes) {
    std::string line = Line(node);
    std::string& shown = shown_[node.name];
    if (line == shown) continue;
    fmt::print("{:>6}  {}\n", absl::FormatDuration(absl::Trunc(elapsed, absl::Seconds(1))), line);
    shown = std::move(line);
  }
}

}  // namespace demo
