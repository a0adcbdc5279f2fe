#include "driverupgrade/prometheus/metrics_collector.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "driverupgrade/version.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";

std::size_t Place(UpgradeState state) { return static_cast<std::size_t>(state); }

/// Returns the metrics of ten nodes in the middle of a rollout, so that no metric is zero.
MetricsSnapshot Figures() {
  MetricsSnapshot figures{.driver = kGpu, .auto_upgrade = true, .paused = true};
  figures.nodes = {.total = 10, .pending = 4, .in_progress = 4, .failed = 1, .done = 2, .slots = 3, .unavailable = 3};
  figures.nodes.by_state[Place(UpgradeState::kUpgradeRequired)] = 4;
  figures.nodes.by_state[Place(UpgradeState::kDrainRequired)] = 2;
  figures.nodes.by_state[Place(UpgradeState::kFailed)] = 1;
  figures.nodes.by_state[Place(UpgradeState::kDone)] = 2;
  figures.budget = {.total = 10, .parallel_max = 5, .parallel_used = 3, .unavailable_max = 4, .unavailable = 3};
  figures.blocked = {{GateReason::kMaxParallel, 4}, {GateReason::kDisruptionBudget, 2}};
  figures.findings = {{FindingCode::kForeignCordon, 2}};
  figures.transitions[{UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired}] = 6;
  figures.state_seconds[UpgradeState::kDrainRequired] = {.bounds = {60}, .counts = {1, 2}, .sum = 300};
  figures.upgrade_seconds = {.bounds = {60}, .counts = {3, 4}, .sum = 900};
  figures.evictions_accepted = 9;
  figures.evictions_refused = 8;
  figures.driver_pods_deleted = 7;
  figures.gang_interruptions = 11;
  figures.late_holders = 2;
  figures.pods_kept = 40;
  figures.nodes.devices_isolated = 3;
  figures.node_errors = {{absl::StatusCode::kAborted, 5}, {absl::StatusCode::kUnavailable, 4}};
  figures.conflicts = 5;
  figures.unknown_outcomes = 4;
  figures.reconcile_seconds = {.bounds = {0.1, 1}, .counts = {2, 1, 1}, .sum = 3.5};
  figures.reconcile_errors = 3;
  figures.last_progress = absl::FromUnixSeconds(1000);
  figures.last_success = absl::FromUnixSeconds(1200);
  figures.giving_back = 6;
  figures.leading = true;
  return figures;
}

std::set<std::string> Lines(const std::string& page) {
  std::set<std::string> lines;
  std::istringstream stream(page);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

std::set<std::string> LinesOf(const MetricsSnapshot& figures, MetricsOptions options = {}) {
  return Lines(MetricsCollector({[&] { return figures; }}, std::move(options)).Text());
}

bool Mentions(const std::set<std::string>& lines, const std::string& begin) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(begin); });
}

TEST_CASE("The page contains every metric under its name") {
  const std::set<std::string> lines = LinesOf(Figures());
  for (const char* line : {
           "driverupgrade_build_info{version=\"" DRIVERUPGRADE_VERSION_STRING "\"} 1",
           "driverupgrade_nodes{driver=\"nvidia.com/gpu\",state=\"drain-required\"} 2",
           "driverupgrade_nodes{driver=\"nvidia.com/gpu\",state=\"validation-required\"} 0",
           "driverupgrade_nodes{driver=\"nvidia.com/gpu\",state=\"invalid\"} 1",
           "driverupgrade_nodes_blocked{driver=\"nvidia.com/gpu\",reason=\"DisruptionBudget\"} 2",
           "driverupgrade_findings{driver=\"nvidia.com/gpu\",code=\"ForeignCordon\"} 2",
           "driverupgrade_budget_slots{driver=\"nvidia.com/gpu\",kind=\"used\"} 3",
           "driverupgrade_budget_slots{driver=\"nvidia.com/gpu\",kind=\"total\"} 5",
           "driverupgrade_budget_unavailable{driver=\"nvidia.com/gpu\",kind=\"used\"} 3",
           "driverupgrade_budget_unavailable{driver=\"nvidia.com/gpu\",kind=\"total\"} 4",
           "driverupgrade_auto_upgrade{driver=\"nvidia.com/gpu\"} 1",
           "driverupgrade_paused{driver=\"nvidia.com/gpu\"} 1",
           "driverupgrade_nodes_giving_back{driver=\"nvidia.com/gpu\"} 6",
           "driverupgrade_leader{driver=\"nvidia.com/gpu\"} 1",
           "driverupgrade_last_progress_timestamp_seconds{driver=\"nvidia.com/gpu\"} 1000",
           "driverupgrade_transitions_total{driver=\"nvidia.com/"
           "gpu\",from=\"upgrade-required\",to=\"cordon-required\"} 6",
           "driverupgrade_node_duration_seconds_sum{driver=\"nvidia.com/gpu\",phase=\"drain-required\"} 300",
           "driverupgrade_node_duration_seconds_count{driver=\"nvidia.com/gpu\",phase=\"upgrade\"} 7",
           "driverupgrade_evictions_total{driver=\"nvidia.com/gpu\",result=\"accepted\"} 9",
           "driverupgrade_evictions_total{driver=\"nvidia.com/gpu\",result=\"refused\"} 8",
           "driverupgrade_driver_pods_deleted_total{driver=\"nvidia.com/gpu\"} 7",
           "driverupgrade_gang_interruptions_total{driver=\"nvidia.com/gpu\"} 11",
           "driverupgrade_late_holders_total{driver=\"nvidia.com/gpu\"} 2",
           "driverupgrade_pods_kept_total{driver=\"nvidia.com/gpu\"} 40",
           "driverupgrade_nodes_isolated{driver=\"nvidia.com/gpu\",scope=\"Node\"} 1",
           "driverupgrade_nodes_isolated{driver=\"nvidia.com/gpu\",scope=\"Devices\"} 3",
           "driverupgrade_node_errors_total{driver=\"nvidia.com/gpu\",code=\"ABORTED\"} 5",
           "driverupgrade_conflicts_total{driver=\"nvidia.com/gpu\"} 5",
           "driverupgrade_unknown_outcomes_total{driver=\"nvidia.com/gpu\"} 4",
           "driverupgrade_reconcile_seconds_bucket{driver=\"nvidia.com/gpu\",le=\"1\"} 3",
           "driverupgrade_reconcile_seconds_bucket{driver=\"nvidia.com/gpu\",le=\"+Inf\"} 4",
           "driverupgrade_reconcile_seconds_sum{driver=\"nvidia.com/gpu\"} 3.5",
           "driverupgrade_reconcile_errors_total{driver=\"nvidia.com/gpu\"} 3",
           "# TYPE driverupgrade_nodes gauge",
           "# TYPE driverupgrade_transitions_total counter",
           "# TYPE driverupgrade_reconcile_seconds histogram",
       }) {
    CAPTURE(line);
    CHECK(lines.contains(line));
  }
  CHECK_FALSE(Mentions(lines, "gpu_operator_"));
}

TEST_CASE("B-20: the page contains the counts of gangs if the policy considers gangs") {
  MetricsSnapshot figures = Figures();
  CHECK_FALSE(Mentions(LinesOf(figures), "driverupgrade_rollout_gang"));
  figures.rollout = RolloutStatus{};
  CHECK_FALSE(Mentions(LinesOf(figures), "driverupgrade_rollout_gang"));
  figures.rollout->gangs = RolloutGangs{.gangs = 5,
                                        .units = 4,
                                        .interruptions = 6,
                                        .by_name = 20,
                                        .interrupted = 3,
                                        .caused = 7,
                                        .by_interruptions = {{1, 2}, {5, 1}}};
  const std::set<std::string> lines = LinesOf(figures);
  for (const char* line : {
           "driverupgrade_rollout_gangs{driver=\"nvidia.com/gpu\"} 5",
           "driverupgrade_rollout_gang_units{driver=\"nvidia.com/gpu\"} 4",
           "driverupgrade_rollout_gang_interruptions_planned{driver=\"nvidia.com/gpu\"} 6",
           "driverupgrade_rollout_gangs_interrupted{driver=\"nvidia.com/gpu\"} 3",
           "driverupgrade_rollout_gang_interruptions{driver=\"nvidia.com/gpu\"} 7",
           "driverupgrade_rollout_interruptions_per_gang_bucket{driver=\"nvidia.com/gpu\",le=\"1\"} 2",
           "driverupgrade_rollout_interruptions_per_gang_bucket{driver=\"nvidia.com/gpu\",le=\"5\"} 3",
           "driverupgrade_rollout_interruptions_per_gang_sum{driver=\"nvidia.com/gpu\"} 7",
       }) {
    CAPTURE(line);
    CHECK(lines.contains(line));
  }
}

TEST_CASE("Metrics are omitted if their limit or value does not exist, or if nothing has been counted yet") {
  const std::set<std::string> lines = LinesOf({.driver = kGpu});
  CHECK(Mentions(lines, "driverupgrade_budget_slots{driver=\"nvidia.com/gpu\",kind=\"used\"}"));
  CHECK_FALSE(Mentions(lines, "driverupgrade_budget_slots{driver=\"nvidia.com/gpu\",kind=\"total\"}"));
  CHECK_FALSE(Mentions(lines, "driverupgrade_leader{"));
  CHECK_FALSE(Mentions(lines, "driverupgrade_last_progress_timestamp_seconds{"));
  CHECK_FALSE(Mentions(lines, "driverupgrade_transitions_total{"));
}

TEST_CASE("Requests and watches are counted per process, and shown if their sources are set") {
  CHECK_FALSE(Mentions(LinesOf(Figures()), "driverupgrade_api_"));
  CHECK_FALSE(Mentions(LinesOf(Figures()), "driverupgrade_watch_"));
  RequestMeter meter;
  meter.Count({.verb = "create", .resource = "pods/eviction", .code = "429"});
  meter.Time("create", absl::Milliseconds(30));
  const auto restarts = [] { return std::map<WatchRestart, std::uint64_t>{{WatchRestart::kExpired, 2}}; };
  const std::set<std::string> lines =
      LinesOf(Figures(), {.requests = [&] { return meter.Snapshot(); }, .watch_restarts = restarts});
  CHECK(lines.contains("driverupgrade_api_requests_total{verb=\"create\",resource=\"pods/eviction\",code=\"429\"} 1"));
  CHECK(lines.contains("driverupgrade_api_request_seconds_bucket{verb=\"create\",le=\"0.025\"} 0"));
  CHECK(lines.contains("driverupgrade_api_request_seconds_bucket{verb=\"create\",le=\"0.05\"} 1"));
  CHECK(lines.contains("driverupgrade_watch_restarts_total{reason=\"expired\"} 2"));
}

TEST_CASE("doc-D1, doc-D15: the GPU Operator's metric names are available, and failed nodes are not in progress") {
  const std::set<std::string> lines = LinesOf(Figures(), {.aliases = GpuOperatorAliases(kGpu)});
  for (const char* line :
       {"gpu_operator_auto_upgrade_enabled 1", "gpu_operator_driver_auto_upgrade_enabled 1",
        "gpu_operator_nodes_upgrades_in_progress 3", "gpu_operator_nodes_upgrades_done 2",
        "gpu_operator_nodes_upgrades_failed 1", "gpu_operator_nodes_upgrades_available 1",
        "gpu_operator_nodes_upgrades_pending 4", "# TYPE gpu_operator_nodes_upgrades_pending gauge",
        "gpu_operator_reconciliation_status 1", "# TYPE gpu_operator_reconciliation_status gauge",
        "gpu_operator_reconciliation_total 4", "# TYPE gpu_operator_reconciliation_total counter",
        "gpu_operator_reconciliation_failed_total 3", "# TYPE gpu_operator_reconciliation_failed_total counter",
        "gpu_operator_reconciliation_last_success_ts_seconds 1200"}) {
    CAPTURE(line);
    CHECK(lines.contains(line));
  }
  CHECK_FALSE(Mentions(LinesOf(Figures(), {.aliases = GpuOperatorAliases("nvidia.com/ofed")}), "gpu_operator_"));
}

TEST_CASE("The GPU Operator's status is 0 before the first pass, and -1 if the last pass failed") {
  MetricsSnapshot figures = Figures();
  figures.last_success.reset();
  CHECK(LinesOf(figures, {.aliases = GpuOperatorAliases(kGpu)}).contains("gpu_operator_reconciliation_status 0"));
  figures.last_success = absl::FromUnixSeconds(1200);
  figures.failing = true;
  CHECK(LinesOf(figures, {.aliases = GpuOperatorAliases(kGpu)}).contains("gpu_operator_reconciliation_status -1"));
}

TEST_CASE(
    "The number of nodes that may start follows from the limits, or is the number of waiting nodes if there are no "
    "limits") {
  struct Row {
    UpgradeBudget budget;
    const char* value;
  };
  const auto row = GENERATE(values<Row>({{{}, "4"},
                                         {{.parallel_max = 2}, "2"},
                                         {{.parallel_max = 2, .parallel_used = 3}, "0"},
                                         {{.unavailable_max = 3, .unavailable = 1}, "2"},
                                         {{.parallel_max = 2, .failures_max = 1, .failed = 1}, "0"}}));
  MetricsSnapshot figures = Figures();
  figures.budget = row.budget;
  CAPTURE(row.value);
  CHECK(LinesOf(figures, {.aliases = GpuOperatorAliases(kGpu)})
            .contains(std::string("gpu_operator_nodes_upgrades_available ") + row.value));
}

TEST_CASE("Each metric name appears once on the page, even if two drivers report the metric") {
  MetricsSnapshot other = Figures();
  other.driver = "example.com/\"x\"";
  const MetricsCollector collector({Figures, [&] { return other; }});
  std::set<std::string> names;
  for (const MetricFamily& family : collector.Collect()) CHECK(names.insert(family.name).second);
  const std::set<std::string> lines = Lines(collector.Text());
  CHECK(lines.contains("driverupgrade_paused{driver=\"nvidia.com/gpu\"} 1"));
  CHECK(lines.contains("driverupgrade_paused{driver=\"example.com/\\\"x\\\"\"} 1"));
}

}  // namespace
}  // namespace driverupgrade::tests
