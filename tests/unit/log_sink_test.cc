#include "driverupgrade/log_sink.h"

#include <vector>

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

struct LoggedLines {
  std::vector<std::string> lines = {};
  std::shared_ptr<Observer> observer =
      MakeLoggingObserver(Gpu(), [this](const LogRecord& record) { lines.push_back(FormatLogfmt(record)); });
  std::vector<std::string> After(const Plan& plan) {
    lines.clear();
    observer->OnPlan(plan);
    return lines;
  }
};

Plan Waiting(GateReason reason, std::string detail) {
  return {.gates = {{.node = "n1",
                     .state = UpgradeState::kDrainRequired,
                     .gate = {.reason = reason, .detail = std::move(detail)}}}};
}

TEST_CASE("defect-D32: a node that waits is logged when it begins to wait, not at each pass") {
  LoggedLines log;
  CHECK(log.After(Waiting(GateReason::kPodsTerminating, "team-a/web: terminating")) ==
        std::vector<std::string>{"level=info msg=\"node waits\" driver=nvidia.com/gpu node=n1 state=drain-required "
                                 "gate=PodsTerminating detail=\"team-a/web: terminating\""});
  CHECK(log.After(Waiting(GateReason::kPodsTerminating, "team-a/db: terminating")).empty());
  CHECK(log.After(Waiting(GateReason::kDisruptionBudget, "team-a/db")).size() == 1);
  CHECK(log.After({}).empty());
  CHECK(log.After(Waiting(GateReason::kDisruptionBudget, "team-a/db")).size() == 1);
}

TEST_CASE("A node that goes on waiting is not logged again because a plan tells only what has changed") {
  LoggedLines log;
  CHECK(log.After(Waiting(GateReason::kMaxParallel, "place 7 in the queue")).size() == 1);
  CHECK(log.After({.gates_complete = false}).empty());
  Plan same = Waiting(GateReason::kMaxParallel, "place 2 in the queue");
  same.gates_complete = false;
  CHECK(log.After(same).empty());
  Plan other = Waiting(GateReason::kDisruptionBudget, "team-a/db");
  other.gates_complete = false;
  CHECK(log.After(other).size() == 1);
  CHECK(log.After({.gates_complete = false, .ungated = {"n1"}}).empty());
  CHECK(log.After(other).size() == 1);
}

TEST_CASE("A finding is logged once, as long as it stays") {
  LoggedLines log;
  const Plan plan{.findings = {{.code = FindingCode::kUpdateStrategy, .message = "DaemonSet a/b is not OnDelete"}}};
  CHECK(log.After(plan) ==
        std::vector<std::string>{"level=warning msg=finding driver=nvidia.com/gpu code=UpdateStrategy "
                                 "node=\"\" detail=\"DaemonSet a/b is not OnDelete\""});
  CHECK(log.After(plan).empty());
}

TEST_CASE("A log line has one line, whatever the values are") {
  const std::string line = FormatLogfmt({.message = "m", .fields = {{"a", "x\ny\x1b[31m \"q\" \\"}}});
  CHECK(line.find('\n') == std::string::npos);
  CHECK(line.find('\x1b') == std::string::npos);
  CHECK(line.starts_with("level=info msg=m a=\""));
}

}  // namespace
}  // namespace driverupgrade::tests
