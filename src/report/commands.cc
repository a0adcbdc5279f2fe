#include "report/commands.h"

#include <string_view>

namespace driverupgrade::internal {
namespace {

// Without options, upgradectl is for the GPU driver of nvidia.com.
std::string Upgradectl(const DriverIdentity& identity, std::string_view verb, std::string_view argument) {
  std::string command = "upgradectl " + std::string(verb);
  if (!argument.empty()) command += " " + std::string(argument);
  if (identity.domain() != "nvidia.com") command += " --domain " + identity.domain();
  if (identity.driver() != "gpu") command += " --driver " + identity.driver();
  return command;
}

// The approval `canary@5d4c9` is of the stage `canary`.
std::string ApprovedStage(const Gate& gate) {
  if (!gate.subject || gate.subject->kind != GateSubjectKind::kApproval) return "STAGE";
  return gate.subject->name.substr(0, gate.subject->name.rfind('@'));
}

std::vector<std::string> AboutPod(const Gate& gate) {
  if (!gate.subject || gate.subject->kind != GateSubjectKind::kPod) return {};
  return {"kubectl describe pod -n " + gate.subject->ns + " " + gate.subject->name};
}

}  // namespace

std::vector<std::string> CommandsFor(const DriverIdentity& identity, const Gate& gate, const std::string& node) {
  const auto ours = [&](std::string_view verb, std::string_view argument = {}) {
    return Upgradectl(identity, verb, argument);
  };
  std::vector<std::string> commands;
  switch (gate.reason) {
    case GateReason::kApproval:
    case GateReason::kHalted: return {ours("status"), ours("approve", ApprovedStage(gate))};
    case GateReason::kPaused: return {ours("resume")};
    case GateReason::kMaxFailures: return {ours("status")};
    case GateReason::kSkipLabel: return {ours("unskip", node)};
    case GateReason::kCordoned: return {"kubectl uncordon " + node};
    case GateReason::kFailed: return {ours("explain", node), ours("retry", node)};
    case GateReason::kUnknownState: return {"kubectl label node " + node + " " + identity.StateLabel() + "-"};
    case GateReason::kNodeNotReady: return {"kubectl describe node " + node, ours("request", node)};
    default: break;
  }
  commands = AboutPod(gate);
  if (!node.empty()) commands.push_back(ours("explain", node));
  return commands;
}

}  // namespace driverupgrade::internal
