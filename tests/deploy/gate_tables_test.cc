// Checks that alerts and pages classify each gate in the same way as kGates.
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "driverupgrade/gate.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(std::string(DRIVERUPGRADE_SOURCE_DIR) + "/" + path);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the names in each `reason=~"A|B"` of the alerts, in order.
std::vector<std::set<std::string>> ReasonsInAlerts() {
  std::vector<std::set<std::string>> lists;
  std::vector<std::string> parts = absl::StrSplit(Read("deploy/prometheus/rules.yaml"), "reason=~\"");
  for (std::size_t i = 1; i < parts.size(); ++i) {
    lists.emplace_back(absl::StrSplit(parts[i].substr(0, parts[i].find('"')), '|'));
  }
  return lists;
}

template <typename Condition>
std::set<std::string> Names(Condition condition) {
  std::set<std::string> names;
  for (const GateTraits& gate : kGates) {
    if (condition(gate)) names.emplace(gate.name);
  }
  return names;
}

std::string_view InWords(GateOpener opener) {
  switch (opener) {
    case GateOpener::kRollout: return "the rollout";
    case GateOpener::kAdministrator: return "an administrator";
    case GateOpener::kOtherOperator: return "another operator";
    case GateOpener::kWorkloads: return "the workloads";
    case GateOpener::kDriver: return "the driver";
    case GateOpener::kClock: return "the clock";
  }
  return "";
}

TEST_CASE(
    "The alert on progress excludes requested waits and left-out nodes, and the alert on drains lists the gates of "
    "pods") {
  const auto lists = ReasonsInAlerts();
  REQUIRE(lists.size() == 2);
  CHECK(lists[0] == Names([](const GateTraits& gate) { return gate.is_wish || gate.left_out; }));
  // Jobs and SafeLoad are excluded, because in both cases no pod blocks a drain. With Jobs, the policy itself waits for
  // the pods. With SafeLoad, the driver of a failed node waits to be loaded.
  CHECK(lists[1] == Names([](const GateTraits& gate) {
          return gate.opener == GateOpener::kWorkloads && !gate.is_wish && gate.reason != GateReason::kJobs &&
                 gate.reason != GateReason::kSafeLoad;
        }));
}

TEST_CASE("The page for administrators on call states who opens each gate") {
  std::map<std::string, std::string> openers;
  for (const absl::string_view line : absl::StrSplit(Read("docs/operations.md"), '\n')) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (cells.size() == 4) openers[cells[0]] = cells[1];
  }
  for (const GateTraits& gate : kGates) {
    CAPTURE(std::string(gate.name));
    CHECK(openers["| `" + std::string(gate.name) + "`"] == InWords(gate.opener));
  }
}

}  // namespace
}  // namespace driverupgrade::tests
