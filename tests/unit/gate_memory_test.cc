#include "observe/gate_memory.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::CarryGates;
using internal::GateMemory;

NodeGate Waits(std::string node, GateReason reason, std::string detail = "") {
  return {.node = std::move(node), .gate = {.reason = reason, .detail = std::move(detail)}};
}

Plan Changes(std::vector<NodeGate> gates, std::vector<std::string> ungated = {}) {
  return {.gates = std::move(gates), .gates_complete = false, .ungated = std::move(ungated)};
}

int Count(const GateMemory& memory, GateReason reason) {
  const auto found = memory.counts().find(reason);
  return found == memory.counts().end() ? -1 : found->second;
}

TEST_CASE("A plan that lists all gates ends the gates that it does not list") {
  GateMemory memory;
  const Plan both{.gates = {Waits("n1", GateReason::kMaxParallel), Waits("n2", GateReason::kMaxParallel)}};
  CHECK(memory.Follow(both).size() == 2);
  CHECK(memory.Follow(both).empty());
  CHECK(Count(memory, GateReason::kMaxParallel) == 2);
  CHECK(memory.Follow({.gates = {Waits("n2", GateReason::kFailed)}}) ==
        std::vector<NodeGate>{Waits("n2", GateReason::kFailed)});
  CHECK(Count(memory, GateReason::kMaxParallel) == 0);
  CHECK(Count(memory, GateReason::kFailed) == 1);
}

TEST_CASE("A plan that lists only changed gates ends only the gates that it lists as ended") {
  GateMemory memory;
  memory.Follow(Changes({Waits("n1", GateReason::kMaxParallel), Waits("n2", GateReason::kMaxParallel)}));
  CHECK(memory.Follow(Changes({})).empty());
  CHECK(Count(memory, GateReason::kMaxParallel) == 2);
  CHECK(memory.Follow(Changes({Waits("n1", GateReason::kMaxParallel, "place 1")})).empty());
  CHECK(memory.Follow(Changes({Waits("n1", GateReason::kJobs)}, {"n2", "n3"})).size() == 1);
  CHECK(Count(memory, GateReason::kMaxParallel) == 0);
  CHECK(Count(memory, GateReason::kJobs) == 1);
  CHECK(memory.Follow(Changes({Waits("n2", GateReason::kMaxParallel)})).size() == 1);  // a new wait
}

TEST_CASE("The gates of a plan that was not reported are carried over, except for nodes that the next plan covers") {
  const Plan untold = Changes({Waits("n1", GateReason::kPodsUnknown), Waits("n4", GateReason::kJobs)}, {"n2", "n3"});
  Plan plan = Changes({Waits("n2", GateReason::kFailed)}, {"n1"});
  CarryGates(untold, plan);
  CHECK(plan == Changes({Waits("n2", GateReason::kFailed), Waits("n4", GateReason::kJobs)}, {"n1", "n3"}));

  plan = Changes({Waits("n2", GateReason::kFailed)}, {"n1"});
  CarryGates({.gates = {Waits("n1", GateReason::kJobs), Waits("n4", GateReason::kJobs)}}, plan);
  CHECK(plan == Plan{.gates = {Waits("n2", GateReason::kFailed), Waits("n4", GateReason::kJobs)}});

  plan = {.gates = {Waits("n2", GateReason::kFailed)}};
  CarryGates(untold, plan);
  CHECK(plan == Plan{.gates = {Waits("n2", GateReason::kFailed)}});
}

}  // namespace
}  // namespace driverupgrade::tests
