// Formats the rollout document that GET /rollout returns and docs/rollout.schema.json describes.
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

// Report on the nodes of one policy.
struct PoolReport {
  std::string name = {};
  FleetStatus status = {};
  // Histories in the order of the nodes; nullptr if nothing has happened on a node.
  std::vector<std::shared_ptr<const NodeHistory>> histories = {};
};

struct RolloutReport {
  DriverIdentity identity;
  // True if this replica is the leader.
  bool leads = false;
  // The replica's name in the leader election; empty if there is no election.
  std::string replica = {};
  // Time of the last pass; nullopt before the first pass.
  std::optional<absl::Time> last_pass = std::nullopt;
  // The error of the last pass; empty if the pass succeeded.
  std::string last_error = {};
  std::vector<PoolReport> pools = {};
};

// Returns the names of the nodes, in the order of `status`. The names are valid as long as `status` exists.
std::vector<std::string_view> NamesOf(const FleetStatus& status);

// Returns one line of JSON, without the time of the request.
std::string FormatRolloutDocument(const RolloutReport& report);
// Adds the time of the request to the document.
std::string AtTime(const std::string& document, absl::Time now);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_REPORT_ROLLOUT_DOCUMENT_H_
