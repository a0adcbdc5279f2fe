#include <vector>

#include "driverupgrade/observer.h"
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

TEST_CASE("defect-D32: a waiting node is logged when its wait starts, not in each pass") {
  LoggedLines log;
  CHECK(log.After(Waiting(GateReason::kPodsTerminating, "team-a/web: terminating")) ==
        std::vector<std::string>{"level=info msg=\"node waits\" driver=nvidia.com/gpu node=n1 state=drain-required "
                                 "gate=PodsTerminating detail=\"team-a/web: terminating\""});
  CHECK(log.After(Waiting(GateReason::kPodsTerminating, "team-a/db: terminating")).empty());
  CHECK(log.After(Waiting(GateReason::kDisruptionBudget, "team-a/db")).size() == 1);
  CHECK(log.After({}).empty());
  CHECK(log.After(Waiting(GateReason::kDisruptionBudget, "team-a/db")).size() == 1);
}

TEST_CASE("A node that is still waiting is not logged again after a plan that reports only changes") {
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

TEST_CASE("Once a node's patch is applied, the node's wait is logged with the new state and the end time of the wait") {
  LoggedLines log;
  Plan plan = Waiting(GateReason::kJobs, "team-a/web");
  plan.gates[0].gate.not_before = absl::UnixEpoch() + absl::Hours(1);
  plan.nodes.push_back({.node = "n1", .path = {UpgradeState::kWaitForJobsRequired}, .patch = PatchNodeParams{}});
  CHECK(log.After(plan).empty());
  CHECK(log.After({.gates_complete = false}).empty());
  log.lines.clear();
  log.observer->OnNodeApplied(plan.nodes[0], {.node = "n1", .patched = true});
  REQUIRE(log.lines.size() == 2);
  CHECK(log.lines[0].find("msg=\"node moved\"") != std::string::npos);
  CHECK(log.lines[1].find("msg=\"node waits\"") != std::string::npos);
  CHECK(log.lines[1].ends_with("until=1970-01-01T01:00:00Z"));
}

TEST_CASE("If a patch was not applied, the wait is logged according to the next plan") {
  LoggedLines log;
  Plan plan = Waiting(GateReason::kJobs, "team-a/web");
  plan.nodes.push_back({.node = "n1", .path = {UpgradeState::kWaitForJobsRequired}, .patch = PatchNodeParams{}});
  CHECK(log.After(plan).empty());
  log.lines.clear();
  log.observer->OnNodeApplied(plan.nodes[0], {.node = "n1", .status = absl::AbortedError("409")});
  CHECK(log.lines.size() == 1);
  CHECK(log.After(Waiting(GateReason::kMaxParallel, "place 1")).size() == 1);
  CHECK(log.After(Waiting(GateReason::kMaxParallel, "place 1")).empty());
}

TEST_CASE("Refused evictions are logged even if no eviction was accepted") {
  LoggedLines log;
  log.observer->OnNodeApplied({.node = "n1"}, {.node = "n1", .evictions_refused = 2});
  REQUIRE(log.lines.size() == 1);
  CHECK(log.lines[0].find("msg=\"evictions refused\"") != std::string::npos);
}

TEST_CASE("A finding is logged once while it persists") {
  LoggedLines log;
  const Plan plan{.findings = {{.code = FindingCode::kUpdateStrategy, .message = "DaemonSet a/b is not OnDelete"}}};
  CHECK(log.After(plan) ==
        std::vector<std::string>{"level=warning msg=finding driver=nvidia.com/gpu code=UpdateStrategy "
                                 "detail=\"DaemonSet a/b is not OnDelete\""});
  CHECK(log.After(plan).empty());
}

TEST_CASE("A log entry is a single line, whatever its values contain") {
  CHECK(FormatLogfmt({.message = "m", .fields = {{"a", "x\ny\x1b[31m \"q\" \\"}}}) ==
        R"(level=info msg=m a="x\ny\x1b[31m \"q\" \\")");
  // A C1 control character, a character that reverses the text direction, and an invalid byte.
  CHECK(FormatLogfmt({.message = "1\r2", .fields = {{"a", "\xC2\x9B"}, {"b", "\xE2\x80\xAE"}, {"c", "\xFF"}}}) ==
        R"(level=info msg="1\x0d2" a="\xc2\x9b" b="\xe2\x80\xae" c="\xff")");
  CHECK(FormatLogfmt({.message = "m", .fields = {{"a", "\x7f"}}}) == R"(level=info msg=m a="\x7f")");
  // A value that looks like another field, and a value that is too long.
  CHECK(FormatLogfmt({.message = "m", .fields = {{"a", "b level=error"}}}) == R"(level=info msg=m a="b level=error")");
  CHECK(FormatLogfmt({.message = "m", .fields = {{"a", std::string(100'000, 'x')}}}).size() < 2000);
}

}  // namespace
}  // namespace driverupgrade::tests
