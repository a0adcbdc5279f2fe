#include "report/node_histories.h"

#include <string>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::NodeHistories;

constexpr absl::Time kStart = absl::UnixEpoch();

NodePlan To(UpgradeState state, const std::string& reason) { return {.node = "n1", .path = {state}, .reason = reason}; }

Plan Waiting(GateReason reason, const std::string& detail) {
  return {
      .gates = {{.node = "n1", .state = UpgradeState::kDrainRequired, .gate = {.reason = reason, .detail = detail}}}};
}

TEST_CASE("A history keeps the last ten transitions") {
  NodeHistories histories;
  CHECK(histories.Find("n1") == nullptr);
  for (int i = 0; i < 12; ++i) {
    histories.Follow(To(UpgradeState::kDrainRequired, std::to_string(i)), {.patched = true}, kStart + absl::Seconds(i));
  }
  const auto& transitions = histories.Find("n1")->transitions;
  REQUIRE(transitions.size() == 10);
  CHECK(transitions.front().reason == "2");
  CHECK(transitions.back().at == kStart + absl::Seconds(11));
}

TEST_CASE("A patch that was not acknowledged is recorded as a failed request, not as a transition") {
  NodeHistories histories;
  histories.Follow(To(UpgradeState::kDone, "given back"), {.status = absl::UnavailableError("the server is away")},
                   kStart);
  CHECK(histories.Find("n1")->transitions.empty());
  REQUIRE(histories.Find("n1")->failed_requests.size() == 1);
  CHECK(histories.Find("n1")->failed_requests[0].code == "UNAVAILABLE");
  CHECK(histories.Find("n1")->failed_requests[0].message == "the server is away");
  // A conflict is not recorded as a failed request.
  histories.Follow(NodePlan{.node = "n2"}, NodeOutcome{.status = absl::AbortedError("409 Conflict")}, kStart);
  CHECK(histories.Find("n2") == nullptr);
}

TEST_CASE("A new wait starts when the reason of the gate changes, but not when only the detail changes") {
  NodeHistories histories;
  const auto since = [&] { return histories.Find("n1")->waiting->since; };
  histories.Follow(Waiting(GateReason::kDisruptionBudget, "web"), kStart);
  histories.Follow(Waiting(GateReason::kDisruptionBudget, "db"), kStart + absl::Seconds(5));
  CHECK(since() == kStart);
  histories.Follow(Waiting(GateReason::kPodsTerminating, "db"), kStart + absl::Seconds(9));
  CHECK(since() == kStart + absl::Seconds(9));

  Plan nothing_new{.gates_complete = false};
  histories.Follow(nothing_new, kStart + absl::Seconds(10));
  CHECK(since() == kStart + absl::Seconds(9));
  nothing_new.ungated = {"n1"};
  histories.Follow(nothing_new, kStart + absl::Seconds(11));
  CHECK_FALSE(histories.Find("n1")->waiting);

  histories.Follow(Waiting(GateReason::kPodsTerminating, "db"), kStart + absl::Seconds(12));
  histories.Follow(Plan(), kStart + absl::Seconds(13));
  CHECK_FALSE(histories.Find("n1")->waiting);
}

TEST_CASE("Trim limits the number of histories, but keeps the histories of waiting nodes") {
  NodeHistories histories;
  histories.Follow(Waiting(GateReason::kDisruptionBudget, "web"), kStart);
  for (int i = 0; i < 1000; ++i) {
    histories.Follow({.node = std::to_string(i), .path = {UpgradeState::kDone}}, {.patched = true},
                     kStart + absl::Seconds(i));
    histories.Trim(3);
  }
  CHECK(histories.Find("n1") != nullptr);
  CHECK(histories.Find("0") == nullptr);
  CHECK(histories.Find("999") != nullptr);
  int known = 0;
  for (int i = 0; i < 1000; ++i) known += histories.Find(std::to_string(i)) != nullptr;
  CHECK(known <= 106);
}

TEST_CASE("The histories of deleted nodes are dropped") {
  NodeHistories histories;
  for (const char* node : {"a", "b", "c"}) {
    histories.Follow({.node = node, .path = {UpgradeState::kDone}}, {.patched = true}, kStart);
  }
  histories.Keep({"b", "d"});
  CHECK(histories.Find("a") == nullptr);
  CHECK(histories.Find("b") != nullptr);
  CHECK(histories.Find("c") == nullptr);
}

TEST_CASE("Histories are returned in the order of the requested nodes, and do not change later") {
  NodeHistories histories;
  for (const char* node : {"a", "c", "d"}) {
    histories.Follow({.node = node, .path = {UpgradeState::kDone}}, {.patched = true}, kStart);
  }
  const auto found = histories.Of({"b", "c", "e"});
  REQUIRE(found.size() == 3);
  CHECK(found[0] == nullptr);
  CHECK(found[1].get() == histories.Find("c"));
  CHECK(found[2] == nullptr);
  histories.Follow({.node = "c", .path = {UpgradeState::kFailed}}, {.patched = true}, kStart);
  CHECK(found[1]->transitions.size() == 1);
  CHECK(histories.Find("c")->transitions.size() == 2);
}

}  // namespace
}  // namespace driverupgrade::tests
