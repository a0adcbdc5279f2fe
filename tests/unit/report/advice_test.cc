#include "report/advice.h"

#include <string>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::Advice;
using internal::AdviceFor;
using internal::OperatorCommands;

TEST_CASE("Every gate has advice, with commands that name the node, the pod, and the driver") {
  const DriverIdentity fpga = DriverIdentity::Create("example.com", "fpga").value();
  const OperatorCommands commands(fpga);
  for (const GateTraits& traits : kGates) {
    CAPTURE(traits.name);
    Gate gate{.reason = traits.reason, .detail = "detail"};
    for (const std::string node : {"n1", ""}) {
      for (const bool has_pod : {false, true}) {
        if (has_pod) gate.subject.emplace(GateSubjectKind::kPod, "team-a", "web-1");
        const Advice advice = AdviceFor(fpga, gate, node, commands);
        CHECK_FALSE(advice.text.empty());
        CHECK(advice.page.starts_with("docs/"));
        for (const std::string& command : advice.commands) {
          CAPTURE(command);
          CHECK(command.find('$') == std::string::npos);
          CHECK(command.find("  ") == std::string::npos);
          CHECK((command.starts_with("kubectl ") || command.ends_with(" --domain example.com --driver fpga")));
        }
      }
      gate.subject.reset();
    }
  }
}

TEST_CASE("Advice depends on the cause of a gate, not only on its name") {
  const DriverIdentity gpu = DriverIdentity::Create("nvidia.com", "gpu").value();
  const OperatorCommands commands(gpu);
  Gate stage{.reason = GateReason::kStage, .detail = ""};
  CHECK(AdviceFor(gpu, stage, "n1", commands).text.starts_with("Wait for the nodes that start earlier"));
  stage.count = GateCount{.used = 0, .limit = 0};
  CHECK(AdviceFor(gpu, stage, "n1", commands).text.starts_with("The open stage has no node that counts"));
  Gate group{.reason = GateReason::kMaxParallel, .detail = ""};
  group.subject.emplace(GateSubjectKind::kGroup, "", "");
  group.count = GateCount{.used = 4, .limit = 3};
  CHECK(AdviceFor(gpu, group, "n1", commands).text.starts_with("Its 4 nodes start together and exceed the limit of 3"));
  Gate approval{.reason = GateReason::kApproval, .detail = ""};
  approval.subject.emplace(GateSubjectKind::kApproval, "", "canary@5d4c9");
  CHECK(AdviceFor(gpu, approval, "", commands).commands.back() == "upgradectl approve canary");
  Gate budget{.reason = GateReason::kDisruptionBudget, .detail = ""};
  budget.subject.emplace(GateSubjectKind::kPod, "team-a", "web-1");
  CHECK(AdviceFor(gpu, budget, "n1", commands).commands ==
        std::vector<std::string>{"kubectl get pods,poddisruptionbudgets -n team-a -o wide",
                                 "kubectl delete pod -n team-a web-1"});
}

TEST_CASE("A node that waits for its turn needs no advice, unless the turn never comes") {
  Gate turn{.reason = GateReason::kMaxParallel, .detail = "", .count = GateCount{.used = 3, .limit = 3}};
  CHECK(internal::OpensByItself(turn));
  turn.subject.emplace(GateSubjectKind::kGroup, "", "");
  CHECK_FALSE(internal::OpensByItself(turn));
  CHECK(internal::OpensByItself({.reason = GateReason::kSoak, .detail = ""}));
  CHECK(
      internal::OpensByItself({.reason = GateReason::kStage, .detail = "", .count = GateCount{.used = 0, .limit = 1}}));
  CHECK_FALSE(
      internal::OpensByItself({.reason = GateReason::kStage, .detail = "", .count = GateCount{.used = 0, .limit = 0}}));
  CHECK_FALSE(internal::OpensByItself({.reason = GateReason::kApproval, .detail = ""}));
}

}  // namespace
}  // namespace driverupgrade::tests
