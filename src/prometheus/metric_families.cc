#include "prometheus/metric_families.h"

#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "driverupgrade/version.h"

namespace driverupgrade::internal {
namespace {

using Type = MetricFamily::Type;
using Labels = std::vector<std::pair<std::string, std::string>>;

// Collects the samples of one driver.
class Samples {
 public:
  Samples(const std::string& driver, MetricFamily& family) : driver_(driver), family_(family) {}
  void Add(double value, Labels labels = {}) { Put({.labels = std::move(labels), .value = value}); }
  void Add(const Histogram& histogram, Labels labels = {}) {
    Put({.labels = std::move(labels), .histogram = histogram});
  }

 private:
  void Put(MetricSample sample) {
    sample.labels.insert(sample.labels.begin(), {"driver", driver_});
    family_.samples.push_back(std::move(sample));
  }
  const std::string& driver_;
  MetricFamily& family_;
};

std::string Text(std::string_view text) { return std::string(text); }

void AddNodes(const MetricsSnapshot& from, Samples& to) {
  for (const UpgradeState state : kAllUpgradeStates) {
    to.Add(from.nodes.InState(state), {{"state", Text(ToString(state))}});
  }
  const auto& known = from.nodes.by_state;
  to.Add(from.nodes.total - std::accumulate(known.begin(), known.end(), 0), {{"state", "invalid"}});
}

void AddBlocked(const MetricsSnapshot& from, Samples& to) {
  for (const auto& [reason, nodes] : from.blocked) to.Add(nodes, {{"reason", Text(ToString(reason))}});
}

void AddFindings(const MetricsSnapshot& from, Samples& to) {
  for (const auto& [code, count] : from.findings) to.Add(count, {{"code", Text(ToString(code))}});
}

void AddBudget(int used, std::optional<int> total, Samples& to) {
  to.Add(used, {{"kind", "used"}});
  if (total) to.Add(*total, {{"kind", "total"}});
}

void AddTransitions(const MetricsSnapshot& from, Samples& to) {
  for (const auto& [edge, count] : from.transitions) {
    to.Add(static_cast<double>(count), {{"from", Text(ToString(edge.first))}, {"to", Text(ToString(edge.second))}});
  }
}

void AddEvictions(const MetricsSnapshot& from, Samples& to) {
  to.Add(static_cast<double>(from.evictions_accepted), {{"result", "accepted"}});
  to.Add(static_cast<double>(from.evictions_refused), {{"result", "refused"}});
}

void AddNodeErrors(const MetricsSnapshot& from, Samples& to) {
  for (const auto& [code, count] : from.node_errors) {
    to.Add(static_cast<double>(count), {{"code", absl::StatusCodeToString(code)}});
  }
}

void AddNodeDurations(const MetricsSnapshot& from, Samples& to) {
  for (const auto& [state, seconds] : from.state_seconds) to.Add(seconds, {{"phase", Text(ToString(state))}});
  to.Add(from.upgrade_seconds, {{"phase", "upgrade"}});
}

void AddIsolated(const MetricsSnapshot& from, Samples& to) {
  to.Add(from.nodes.in_progress - from.nodes.devices_isolated, {{"scope", "Node"}});
  to.Add(from.nodes.devices_isolated, {{"scope", "Devices"}});
}

void AddGangs(const MetricsSnapshot& from, Samples& to) {
  if (!from.rollout || !from.rollout->gangs) return;
  Histogram histogram{.bounds = {1, 2, 3, 5, 10}};
  histogram.counts.resize(histogram.bounds.size() + 1);
  for (const auto& [interruptions, gangs] : from.rollout->gangs->by_interruptions) {
    for (int i = 0; i < gangs; ++i) histogram.Add(interruptions);
  }
  to.Add(histogram);
}

struct Description {
  Type type;
  const char* name;
  const char* help;
  void (*add)(const MetricsSnapshot& from, Samples& to);
};

// docs/monitoring.md must have a row for each metric; a test compares the rows with these metrics.
constexpr Description kDescriptions[] = {
    {Type::kGauge, "driverupgrade_nodes", "Number of nodes by upgrade state.", AddNodes},
    {Type::kGauge, "driverupgrade_nodes_isolated",
     "Number of nodes in progress by scope of the isolation: the whole node or only its devices.", AddIsolated},
    {Type::kGauge, "driverupgrade_nodes_blocked", "Number of waiting nodes by reason.", AddBlocked},
    {Type::kGauge, "driverupgrade_findings", "Number of findings by code.", AddFindings},
    {Type::kGauge, "driverupgrade_budget_slots", "Number of slots of maxParallelUpgrades by kind: used and total.",
     [](const MetricsSnapshot& from, Samples& to) {
       AddBudget(from.budget.parallel_used, from.budget.parallel_max, to);
     }},
    {Type::kGauge, "driverupgrade_budget_unavailable",
     "Number of unavailable nodes by kind: used is the number now, total is the limit.",
     [](const MetricsSnapshot& from, Samples& to) {
       AddBudget(from.budget.unavailable, from.budget.unavailable_max, to);
     }},
    {Type::kGauge, "driverupgrade_auto_upgrade", "1 if the policy allows driver upgrades, otherwise 0.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(from.auto_upgrade); }},
    {Type::kGauge, "driverupgrade_paused", "1 if the policy is paused, otherwise 0.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(from.paused); }},
    {Type::kGauge, "driverupgrade_nodes_giving_back",
     "Number of nodes that still have to be released because their policy was deleted.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(from.giving_back); }},
    {Type::kGauge, "driverupgrade_rollout_stage", "Index of the open stage of the rollout, counted from 0.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.rollout) to.Add(from.rollout->open);
     }},
    {Type::kGauge, "driverupgrade_rollout_halted", "1 if the rollout is halted, otherwise 0.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.rollout) to.Add(from.rollout->halted.has_value());
     }},
    {Type::kGauge, "driverupgrade_rollout_window_open",
     "1 if the windows of the rollout allow nodes to start, otherwise 0.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.rollout) to.Add(!from.rollout->closed.has_value());
     }},
    {Type::kGauge, "driverupgrade_rollout_gangs", "Number of gangs with pods on waiting nodes.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.rollout && from.rollout->gangs) to.Add(from.rollout->gangs->gangs);
     }},
    {Type::kGauge, "driverupgrade_rollout_gang_interruptions_planned",
     "Number of gang interruptions that are still to come.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.rollout && from.rollout->gangs) to.Add(from.rollout->gangs->interruptions);
     }},
    {Type::kGauge, "driverupgrade_rollout_gang_units", "Number of units: groups of waiting nodes that start together.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.rollout && from.rollout->gangs) to.Add(from.rollout->gangs->units);
     }},
    {Type::kGauge, "driverupgrade_rollout_gangs_interrupted", "Number of gangs that this rollout has interrupted.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.rollout && from.rollout->gangs) to.Add(from.rollout->gangs->interrupted);
     }},
    {Type::kGauge, "driverupgrade_rollout_gang_interruptions",
     "Number of gang interruptions that this rollout has caused.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.rollout && from.rollout->gangs) to.Add(from.rollout->gangs->caused);
     }},
    {Type::kHistogram, "driverupgrade_rollout_interruptions_per_gang",
     "Interruptions of each gang that this rollout has interrupted.", AddGangs},
    {Type::kGauge, "driverupgrade_leader", "1 if this replica is the leader, otherwise 0.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.leading) to.Add(*from.leading);
     }},
    {Type::kGauge, "driverupgrade_last_progress_timestamp_seconds", "Unix time at which a node last entered a state.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.last_progress) to.Add(absl::ToDoubleSeconds(*from.last_progress - absl::UnixEpoch()));
     }},
    {Type::kCounter, "driverupgrade_transitions_total", "Total number of state transitions by old state and new state.",
     AddTransitions},
    {Type::kHistogram, "driverupgrade_node_duration_seconds",
     "Time in seconds that nodes spent in a state or in a whole upgrade, by phase.", AddNodeDurations},
    {Type::kCounter, "driverupgrade_evictions_total", "Total number of eviction requests by result.", AddEvictions},
    {Type::kCounter, "driverupgrade_driver_pods_deleted_total", "Total number of driver pods deleted for replacement.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.driver_pods_deleted)); }},
    {Type::kCounter, "driverupgrade_gang_interruptions_total", "Total number of gang interruptions.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.gang_interruptions)); }},
    {Type::kCounter, "driverupgrade_late_holders_total",
     "Total number of pods evicted because they were given a device after it had been tainted.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.late_holders)); }},
    {Type::kCounter, "driverupgrade_pods_kept_total",
     "Total number of pods that kept running while the driver of their node was replaced.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.pods_kept)); }},
    {Type::kCounter, "driverupgrade_node_errors_total", "Total number of failed requests for nodes by status code.",
     AddNodeErrors},
    {Type::kCounter, "driverupgrade_conflicts_total",
     "Total number of requests for nodes that conflicted with a change by another client.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.conflicts)); }},
    {Type::kCounter, "driverupgrade_unknown_outcomes_total",
     "Total number of requests for nodes with an unknown outcome.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.unknown_outcomes)); }},
    {Type::kHistogram, "driverupgrade_reconcile_seconds", "Duration of the passes over the cluster in seconds.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(from.reconcile_seconds); }},
    {Type::kCounter, "driverupgrade_reconcile_errors_total", "Total number of failed passes.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.reconcile_errors)); }},
};

constexpr Description kBuildInfo = {Type::kGauge, "driverupgrade_build_info",
                                    "Always 1; the label contains the version.", nullptr};

// Metrics of the process, which do not belong to a driver.
constexpr Description kApiRequests = {Type::kCounter, "driverupgrade_api_requests_total",
                                      "Total number of requests to the API server by verb, resource and status code.",
                                      nullptr};
constexpr Description kApiRequestSeconds = {Type::kHistogram, "driverupgrade_api_request_seconds",
                                            "Response time of the API server in seconds, by verb.", nullptr};
constexpr Description kWatchRestarts = {Type::kCounter, "driverupgrade_watch_restarts_total",
                                        "Total number of restarted watches by reason.", nullptr};

MetricFamily FamilyOf(const Description& description) {
  return {.name = description.name, .help = description.help, .type = description.type};
}

void AddRequests(const RequestFigures& figures, std::vector<MetricFamily>& families) {
  MetricFamily requests = FamilyOf(kApiRequests);
  for (const auto& [kind, count] : figures.requests) {
    requests.samples.push_back({.labels = {{"verb", kind.verb}, {"resource", kind.resource}, {"code", kind.code}},
                                .value = static_cast<double>(count)});
  }
  MetricFamily seconds = FamilyOf(kApiRequestSeconds);
  for (const auto& [verb, histogram] : figures.seconds) {
    seconds.samples.push_back({.labels = {{"verb", verb}}, .histogram = histogram});
  }
  families.push_back(std::move(requests));
  families.push_back(std::move(seconds));
}

void AddWatchRestarts(const std::map<WatchRestart, std::uint64_t>& restarts, std::vector<MetricFamily>& families) {
  MetricFamily family = FamilyOf(kWatchRestarts);
  for (const auto& [reason, count] : restarts) {
    family.samples.push_back({.labels = {{"reason", Text(ToString(reason))}}, .value = static_cast<double>(count)});
  }
  families.push_back(std::move(family));
}

}  // namespace

std::vector<MetricFamily> MakeFamilies(const std::vector<MetricsSnapshot>& drivers, const MetricsOptions& options) {
  std::vector<MetricFamily> families = {FamilyOf(kBuildInfo)};
  families[0].samples = {{.labels = {{"version", DRIVERUPGRADE_VERSION_STRING}}, .value = 1}};
  for (const Description& description : kDescriptions) {
    MetricFamily family = FamilyOf(description);
    for (const MetricsSnapshot& driver : drivers) {
      Samples samples(driver.driver, family);
      description.add(driver, samples);
    }
    families.push_back(std::move(family));
  }
  if (options.requests) AddRequests(options.requests(), families);
  if (options.watch_restarts) AddWatchRestarts(options.watch_restarts(), families);
  return families;
}

}  // namespace driverupgrade::internal
