#include "driverupgrade/upgrade_state.h"

#include <set>
#include <string>

#include "support/catch.h"

namespace driverupgrade {
namespace {

struct Row {
  std::string label_value;
  UpgradeState state;
  bool in_progress;
};

TEST_CASE("every state has the same label value as in the Go library, and is classified as in progress or not") {
  const Row row = GENERATE(values<Row>({
      {"", UpgradeState::kUnknown, false},
      {"upgrade-required", UpgradeState::kUpgradeRequired, false},
      {"cordon-required", UpgradeState::kCordonRequired, true},
      {"wait-for-jobs-required", UpgradeState::kWaitForJobsRequired, true},
      {"pod-deletion-required", UpgradeState::kPodDeletionRequired, true},
      {"drain-required", UpgradeState::kDrainRequired, true},
      {"node-maintenance-required", UpgradeState::kNodeMaintenanceRequired, true},
      {"post-maintenance-required", UpgradeState::kPostMaintenanceRequired, true},
      {"pod-restart-required", UpgradeState::kPodRestartRequired, true},
      {"validation-required", UpgradeState::kValidationRequired, true},
      {"uncordon-required", UpgradeState::kUncordonRequired, true},
      {"upgrade-done", UpgradeState::kDone, false},
      {"upgrade-failed", UpgradeState::kFailed, true},
  }));
  CAPTURE(row.label_value);
  CHECK(ToLabelValue(row.state) == row.label_value);
  CHECK(ParseUpgradeState(row.label_value) == row.state);
  CHECK(ToString(row.state) == (row.label_value.empty() ? "unknown" : row.label_value));
  CHECK(IsInProgress(row.state) == row.in_progress);
}

TEST_CASE("every state has a unique name, and kAllUpgradeStates contains all states") {
  std::set<std::string> spellings;
  for (const UpgradeState state : kAllUpgradeStates) spellings.emplace(ToString(state));
  CHECK(spellings.size() == 13);
}

TEST_CASE("a label value that is not a state is distinguished from a missing label") {
  const std::string value = GENERATE("unknown", "Upgrade-done", "upgrade-done ", "done", "drain-require");
  CAPTURE(value);
  CHECK(ParseUpgradeState(value) == std::nullopt);
}

}  // namespace
}  // namespace driverupgrade
