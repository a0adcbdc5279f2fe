// Helpers that wait for the middle of an upgrade, and find it in the audit log.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_STEPS_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_STEPS_H_

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "audit_log.h"
#include "control_plane.h"
#include "world.h"

namespace driverupgrade::e2e {

inline constexpr std::chrono::seconds kStepLimit{60};

// Grants the operator's user `get` on nodes, because kubectl gets a node before it patches it. The operator itself
// neither needs nor has this permission.
void LetKubectlWork(const ControlPlane& control_plane);

// Deploys a driver, and two workload pods for each node, of which `unavailable_max` may be unavailable at a time. Then
// cordons one of the nodes, of which there must be at least four, as an administrator.
void DeployAll(const World& world, int unavailable_max);

// Returns the nodes that are in `state`.
std::set<std::string> NodesIn(const World& world, std::string_view state);

// Returns whether `node` reaches `state` in time.
bool AwaitState(const World& world, const std::string& node, const std::string& state);

// Changes every node three times, and gives the operator enough time for a wrong reaction.
void GiveTimeToAct(const World& world);

// Returns the first request for which `is_wanted` is true among those that were, or may have been, carried out.
std::optional<AuditedRequest> FindRequest(AuditLog& audit, const std::function<bool(const AuditedRequest&)>& is_wanted);

// Returns the first PATCH that moved `node` to `state`.
std::optional<AuditedRequest> FindEntry(AuditLog& audit, const std::string& node, const std::string& state);

// Returns the first request with `verb` for the object `name`.
std::optional<AuditedRequest> FindWrite(AuditLog& audit, const std::string& verb, const std::string& resource,
                                        const std::string& name);

// Checks that both requests exist, in this order.
void ExpectInOrder(const std::optional<AuditedRequest>& first, const std::optional<AuditedRequest>& second);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_STEPS_H_
