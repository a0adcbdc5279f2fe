#include "prometheus/metric_families.h"

#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "driverupgrade/version.h"

namespace driverupgrade::inline v1::internal {
namespace {

using Type = MetricFamily::Type;
using Labels = std::vector<std::pair<std::string, std::string>>;

// Where the samples of one driver go.
class Samples {
 public:
  Samples(const std::string& driver, MetricFamily& family) : driver_(driver), family_(family) {}
  void Add(double value, Labels labels = {}) { Put({.labels = std::move(labels), .value = value}); }
  void Add(const Histogram& histogram) { Put({.histogram = histogram}); }

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

struct Description {
  Type type;
  const char* name;
  const char* help;
  void (*add)(const MetricsSnapshot& from, Samples& to);
};

// docs/metrics.md has a row for each; a test reads both.
constexpr Description kDescriptions[] = {
    {Type::kGauge, "driverupgrade_nodes", "Nodes with the driver, by the state of their upgrade.", AddNodes},
    {Type::kGauge, "driverupgrade_nodes_blocked", "Nodes that wait, by what they wait for.", AddBlocked},
    {Type::kGauge, "driverupgrade_budget_slots", "Slots of maxParallelUpgrades: used and total.",
     [](const MetricsSnapshot& from, Samples& to) {
       AddBudget(from.budget.parallel_used, from.budget.parallel_max, to);
     }},
    {Type::kGauge, "driverupgrade_budget_unavailable", "Nodes that are unavailable, and how many may be.",
     [](const MetricsSnapshot& from, Samples& to) {
       AddBudget(from.budget.unavailable, from.budget.unavailable_max, to);
     }},
    {Type::kGauge, "driverupgrade_auto_upgrade", "Whether the policy lets drivers be upgraded.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(from.auto_upgrade); }},
    {Type::kGauge, "driverupgrade_paused", "Whether the policy lets no further node start.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(from.paused); }},
    {Type::kGauge, "driverupgrade_leader", "Whether this replica leads.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.leading) to.Add(*from.leading);
     }},
    {Type::kGauge, "driverupgrade_last_progress_timestamp_seconds", "When a node last entered a state.",
     [](const MetricsSnapshot& from, Samples& to) {
       if (from.last_progress) to.Add(absl::ToDoubleSeconds(*from.last_progress - absl::UnixEpoch()));
     }},
    {Type::kCounter, "driverupgrade_transitions_total", "States left and entered.", AddTransitions},
    {Type::kCounter, "driverupgrade_evictions_total", "Evictions asked for, by the answer.", AddEvictions},
    {Type::kCounter, "driverupgrade_driver_pods_deleted_total", "Driver pods deleted in order to be replaced.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.driver_pods_deleted)); }},
    {Type::kCounter, "driverupgrade_node_errors_total", "Requests for a node that failed, by the status.",
     AddNodeErrors},
    {Type::kCounter, "driverupgrade_conflicts_total", "Requests for a node that met somebody else's change.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.conflicts)); }},
    {Type::kCounter, "driverupgrade_unknown_outcomes_total",
     "Requests for a node of which it is not known whether they were carried out.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.unknown_outcomes)); }},
    {Type::kHistogram, "driverupgrade_reconcile_seconds", "How long passes over the cluster took.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(from.reconcile_seconds); }},
    {Type::kCounter, "driverupgrade_reconcile_errors_total", "Passes that could not be made.",
     [](const MetricsSnapshot& from, Samples& to) { to.Add(static_cast<double>(from.reconcile_errors)); }},
};

constexpr Description kBuildInfo = {Type::kGauge, "driverupgrade_build_info", "1; the version is in the label.",
                                    nullptr};

MetricFamily FamilyOf(const Description& description) {
  return {.name = description.name, .help = description.help, .type = description.type};
}

}  // namespace

std::vector<MetricFamily> MakeFamilies(const std::vector<MetricsSnapshot>& drivers) {
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
  return families;
}

}  // namespace driverupgrade::inline v1::internal
