#include "driverupgrade/prometheus/metrics_collector.h"

namespace driverupgrade {
namespace {

using Value = MetricAlias::Value;

struct GpuOperatorName {
  Value value;
  const char* name;
  const char* help;
};

// docs/monitoring.md must have a row for each name; a test compares the rows with these names.
constexpr GpuOperatorName kNames[] = {
    {Value::kAutoUpgrade, "gpu_operator_auto_upgrade_enabled", "1 if driver auto upgrade is enabled, 0 if not"},
    {Value::kAutoUpgrade, "gpu_operator_driver_auto_upgrade_enabled", "1 if driver auto upgrade is enabled, 0 if not"},
    {Value::kInProgress, "gpu_operator_nodes_upgrades_in_progress",
     "Total number of nodes on which the gpu operator pods are being upgraded"},
    {Value::kDone, "gpu_operator_nodes_upgrades_done",
     "Total number of nodes on which the gpu operator pods are successfully upgraded"},
    {Value::kFailed, "gpu_operator_nodes_upgrades_failed",
     "Total number of nodes on which the gpu operator pod upgrades have failed"},
    {Value::kAvailable, "gpu_operator_nodes_upgrades_available",
     "Total number of nodes on which the gpu operator pod upgrades can be done"},
    {Value::kPending, "gpu_operator_nodes_upgrades_pending",
     "Total number of nodes on which the gpu operator pod upgrades are pending"},
    {Value::kReconcileStatus, "gpu_operator_reconciliation_status",
     "1 if the last pass succeeded, 0 before the first pass, -1 if the last pass failed"},
    {Value::kReconciles, "gpu_operator_reconciliation_total", "Total number of passes"},
    {Value::kReconcileFailures, "gpu_operator_reconciliation_failed_total", "Total number of passes that failed"},
    {Value::kLastSuccess, "gpu_operator_reconciliation_last_success_ts_seconds",
     "Timestamp (in seconds) of the last pass that succeeded"},
};

}  // namespace

std::vector<MetricAlias> GpuOperatorAliases(const std::string& driver) {
  std::vector<MetricAlias> aliases;
  for (const GpuOperatorName& name : kNames) {
    aliases.push_back({.name = name.name, .help = name.help, .value = name.value, .driver = driver});
  }
  return aliases;
}

}  // namespace driverupgrade
