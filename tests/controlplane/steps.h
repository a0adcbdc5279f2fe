// Waiting for what an upgrade comes to in the middle, and finding it in the audit log.
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

// kubectl gets a node before it patches it, which the operator need not and may not. Gives the operator that right.
void LetKubectlWork(const ControlPlane& control_plane);

// A driver and two workload pods for each node, of which `unavailable_max` may be away at a time. One of the nodes, of
// which there are four or more, was cordoned by an administrator after it had got its pods.
void DeployAll(const World& world, int unavailable_max);

// Returns the nodes that are in `state`.
std::set<std::string> NodesIn(const World& world, std::string_view state);

// Whether `node` gets into `state` in time.
bool AwaitState(const World& world, const std::string& node, const std::string& state);

// Changes something about every node, three times, and gives the operator the time to do upon it what it must not do.
void GiveTimeToAct(const World& world);

// The first request that `is_wanted` likes among those that were, or may have been, carried out.
std::optional<AuditedRequest> FindRequest(AuditLog& audit, const std::function<bool(const AuditedRequest&)>& is_wanted);

// The first PATCH that brought `node` into `state`.
std::optional<AuditedRequest> FindEntry(AuditLog& audit, const std::string& node, const std::string& state);

// The first `verb` of the object `name`.
std::optional<AuditedRequest> FindWrite(AuditLog& audit, const std::string& verb, const std::string& resource,
                                        const std::string& name);

// Checks that both were made, one after the other.
void ExpectInOrder(const std::optional<AuditedRequest>& first, const std::optional<AuditedRequest>& second);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_STEPS_H_
