// Tests how upgrade durations are measured on nodes that finish, fail, or are replaced.
#include "ledger/node_durations.h"

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using internal::NodeDurations;

// Starts a node and returns the measured durations. Each step is a state and the minute at which the node enters it.
// `last_uid` is the UID of the node in the last step.
std::vector<absl::Duration> Took(const std::vector<std::pair<const char*, int>>& steps,
                                 const std::string& last_uid = "n1-uid") {
  NodeDurations durations;
  durations.Planned("n1", /*starts=*/true);
  for (const auto& [state, minutes] : steps) {
    NodeUnderTest node(state);
    if (minutes == steps.back().second) node.view.node.uid = last_uid;
    // The pass ends an hour after the response.
    const absl::Time answered = kNow + absl::Minutes(minutes);
    const NodeOutcome outcome{
        .node = "n1", .patched_at = answered, .node_after = std::make_shared<const Node>(node.view.node)};
    durations.Note({outcome}, Gpu(), absl::InfinitePast(), answered + absl::Hours(1));
  }
  return durations.took();
}

TEST_CASE("The duration of an upgrade is measured from its start to its end on the same node") {
  CHECK(Took({{"drain-required", 0}, {"pod-restart-required", 3}, {"upgrade-done", 5}}) ==
        std::vector{absl::Minutes(5)});
  // In the last step, the node has been replaced by a new node with the same name, which has the current driver
  // from the beginning.
  CHECK(Took({{"drain-required", 0}, {"upgrade-done", 5}}, "another-uid").empty());
}

TEST_CASE("A failed node has no duration, whether or not the response to its patch was received") {
  NodeDurations durations;
  const auto note = [&](const char* state, int minutes) {
    const NodeOutcome outcome{.node = "n1",
                              .patched_at = kNow + absl::Minutes(minutes),
                              .node_after = std::make_shared<const Node>(NodeUnderTest(state).view.node)};
    durations.Note({outcome}, Gpu(), absl::InfinitePast(), kNow + absl::Minutes(minutes));
  };
  durations.Planned("n1", /*starts=*/true);
  note("pod-restart-required", 0);
  durations.Failed("n1");
  durations.Note({{.node = "n1"}}, Gpu(), absl::InfinitePast(), kNow + absl::Minutes(3));
  durations.Planned("n1", /*starts=*/false);
  note("upgrade-done", 500);
  CHECK(durations.took().empty());
}

}  // namespace
}  // namespace driverupgrade::tests
