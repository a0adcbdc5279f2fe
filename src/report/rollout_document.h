// The document of a rollout: what GET /rollout answers, described by docs/rollout.schema.json.
#ifndef DRIVERUPGRADE_SRC_REPORT_ROLLOUT_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_REPORT_ROLLOUT_DOCUMENT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/plan.h"
#include "report/node_histories.h"

namespace driverupgrade::internal {

// The nodes of one policy.
struct PoolReport {
  std::string name = {};
  FleetStatus status = {};
  // In the order of the nodes; nullptr: nothing has happened on the node.
  std::vector<std::shared_ptr<const NodeHistory>> histories = {};
};

struct RolloutReport {
  DriverIdentity identity;
  // Whether this replica makes the passes.
  bool leads = false;
  // The replica's name among the candidates; empty without an election.
  std::string replica = {};
  // nullopt: there was no pass.
  std::optional<absl::Time> last_pass = std::nullopt;
  // The error of the last pass; empty if it succeeded.
  std::string last_error = {};
  std::vector<PoolReport> pools = {};
};

// The names of the nodes, in their order. Valid as long as `status`.
std::vector<std::string_view> NamesOf(const FleetStatus& status);

// One line of JSON, without the time at which it is read.
std::string FormatRolloutDocument(const RolloutReport& report);
// The same with that time.
std::string AtTime(const std::string& document, absl::Time now);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_REPORT_ROLLOUT_DOCUMENT_H_
