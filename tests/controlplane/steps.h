// Helpers that wait until an upgrade has reached a certain step, and find steps of the upgrade in the audit log.
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

// Grants the operator's user `get` on nodes, because kubectl gets a node before it patches the node. The operator
// itself neither needs nor has this permission.
void LetKubectlWork(const ControlPlane& control_plane);

// Deploys a driver, and two workload pods for each node; at most `unavailable_max` pods may be unavailable at a time.
// Then cordons one of the nodes as an administrator. The world must have at least four nodes.
void DeployAll(const World& world, int unavailable_max);

// Returns the nodes that are in `state`.
std::set<std::string> NodesIn(const World& world, std::string_view state);

// Returns whether `node` reaches `state` in time.
bool AwaitState(const World& world, const std::string& node, const std::string& state);

// Changes every node three times and gives the operator enough time to react incorrectly.
void GiveTimeToAct(const World& world);

// Returns the first request that `is_wanted` accepts, among the requests that were carried out or may have been.
std::optional<AuditedRequest> FindRequest(AuditLog& audit, const std::function<bool(const AuditedRequest&)>& is_wanted);

// Returns the first PATCH that moved `node` to `state`.
std::optional<AuditedRequest> FindEntry(AuditLog& audit, const std::string& node, const std::string& state);

// Returns the first request with this verb, resource and object name.
std::optional<AuditedRequest> FindWrite(AuditLog& audit, const std::string& verb, const std::string& resource,
                                        const std::string& name);

// Checks that both requests exist, in this order.
void ExpectInOrder(const std::optional<AuditedRequest>& first, const std::optional<AuditedRequest>& second);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_STEPS_H_
