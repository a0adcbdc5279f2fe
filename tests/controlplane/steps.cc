#include "steps.h"

#include <algorithm>

#include "support.h"
#include "support/catch.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kNudges = 3;
// Time that the operator may need on a busy machine to react to a change. Usually it reacts within milliseconds.
constexpr std::chrono::milliseconds kTimeToAct{700};

}  // namespace

void LetKubectlWork(const ControlPlane& control_plane) {
  constexpr char kRole[] = "kubectl-gets-nodes";
  const Kubectl& admin = control_plane.admin();
  if (admin.Run({"get", "clusterrole", kRole}).exit_code == 0) return;
  admin.Must({"create", "clusterrole", kRole, "--verb=get", "--resource=nodes"});
  admin.Must({"create", "clusterrolebinding", kRole, "--clusterrole=" + std::string(kRole),
              "--serviceaccount=gpu-operator:driver-upgrade"});
}

void DeployAll(const World& world, int unavailable_max) {
  world.DeployDriver();
  Workload workload;
  workload.replicas = 2 * static_cast<int>(world.nodes().size());
  workload.unavailable_max = unavailable_max;
  world.Deploy(workload);
  world.Cordon(world.nodes().at(3));
}

std::set<std::string> NodesIn(const World& world, std::string_view state) {
  std::set<std::string> names;
  for (const auto& [name, node] : world.Nodes()) {
    if (node.state == state) names.insert(name);
  }
  return names;
}

bool AwaitState(const World& world, const std::string& node, const std::string& state) {
  return Eventually(kStepLimit, [&] { return world.Nodes().at(node).state == state; });
}

void GiveTimeToAct(const World& world) {
  for (int nudge = 0; nudge < kNudges; ++nudge) {
    world.control_plane().admin().Must(
        {"annotate", "nodes", "--all", "--overwrite", "example.com/nudge=" + std::to_string(nudge)});
    Eventually(kTimeToAct, [] { return false; });
  }
}

std::optional<AuditedRequest> FindRequest(AuditLog& audit,
                                          const std::function<bool(const AuditedRequest&)>& is_wanted) {
  std::optional<AuditedRequest> found;
  for (const AuditedRequest& request : audit.Read()) {
    if (!request.may_have_been_done() || !is_wanted(request)) continue;
    if (!found.has_value() || request.received < found->received) found = request;
  }
  return found;
}

std::optional<AuditedRequest> FindEntry(AuditLog& audit, const std::string& node, const std::string& state) {
  return FindRequest(audit, [&](const AuditedRequest& request) {
    return request.node.has_value() && request.name == node && request.node->state == state;
  });
}

std::optional<AuditedRequest> FindWrite(AuditLog& audit, const std::string& verb, const std::string& resource,
                                        const std::string& name) {
  return FindRequest(audit, [&](const AuditedRequest& request) {
    return request.verb == verb && request.resource == resource && request.name == name;
  });
}

void ExpectInOrder(const std::optional<AuditedRequest>& first, const std::optional<AuditedRequest>& second) {
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  INFO(first->verb << " " << first->resource << "/" << first->name << " at " << first->received << ", " << second->verb
                   << " " << second->resource << "/" << second->name << " at " << second->received);
  CHECK(first->received < second->received);
}

}  // namespace driverupgrade::e2e
