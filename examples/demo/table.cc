#include "demo/table.h"

#include <cstdio>

#include "fmt/format.h"

namespace demo {
namespace {

constexpr char kFormat[] = "{:<8} {:<24} {:<12} {:<22} {:>4}  {}\n";

std::string Line(const std::string& node, const Row& row) {
  return fmt::format(fmt::runtime(kFormat), node, row.state, row.schedulable ? "yes" : "cordoned", row.driver,
                     row.workload_pods, row.gate);
}

std::string DriverText(const driverupgrade::Pod& pod) {
  const std::string_view hash = driverupgrade::RevisionHash(pod);
  if (pod.deletion_timestamp) return fmt::format("{} terminating", hash);
  return fmt::format("{} {}", hash, driverupgrade::IsReady(pod) ? "ready" : "starting");
}

}  // namespace

std::map<std::string, Row> ReadRows(const driverupgrade::testing::FakeCluster& cluster,
                                    const driverupgrade::DriverIdentity& identity, const driverupgrade::Plan& plan) {
  std::map<std::string, Row> rows;
  for (const driverupgrade::Node& node : cluster.nodes()) {
    const auto label = node.labels.find(identity.StateLabel());
    rows[node.name] = {.state = label == node.labels.end() ? "-" : label->second, .schedulable = !node.unschedulable};
  }
  for (const driverupgrade::Pod& pod : cluster.pods()) {
    const auto row = rows.find(pod.node_name);
    if (row == rows.end()) continue;
    if (driverupgrade::IsDaemonSetPod(pod)) {
      row->second.driver = DriverText(pod);
    } else {
      ++row->second.workload_pods;
    }
  }
  for (const driverupgrade::NodeGate& node : plan.gates) {
    rows[node.node].gate = fmt::format("{}: {}", driverupgrade::ToString(node.gate.reason), node.gate.detail);
  }
  return rows;
}

void Table::Show(absl::Duration elapsed, const std::map<std::string, Row>& rows) {
  if (rows == shown_) return;
  if (live_) {
    Draw(elapsed, rows);
  } else {
    PrintChanges(elapsed, rows);
  }
  shown_ = rows;
  std::fflush(stdout);
}

void Table::Draw(absl::Duration elapsed, const std::map<std::string, Row>& rows) {
  if (lines_drawn_ > 0) fmt::print("\x1b[{}A\x1b[J", lines_drawn_);
  fmt::print("after {}\n", absl::FormatDuration(absl::Trunc(elapsed, absl::Seconds(1))));
  fmt::print(fmt::runtime(kFormat), "NODE", "STATE", "SCHEDULABLE", "DRIVER", "PODS", "WAITS FOR");
  for (const auto& [node, row] : rows) fmt::print("{}", Line(node, row).substr(0, 160));
  lines_drawn_ = static_cast<int>(rows.size()) + 2;
}

void Table::PrintChanges(absl::Duration elapsed, const std::map<std::string, Row>& rows) {
  for (const auto& [node, row] : rows) {
    const auto before = shown_.find(node);
    if (before != shown_.end() && before->second == row) continue;
    fmt::print("{:>6}  {}", absl::FormatDuration(absl::Trunc(elapsed, absl::Seconds(1))), Line(node, row));
  }
}

}  // namespace demo
