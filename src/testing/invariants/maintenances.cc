// Checks requestor mode: a node must not continue before it is evacuated, and must not be done before its
// NodeMaintenance is released (dep-F13).
#include <algorithm>

#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"

namespace driverupgrade::testing {

using internal::NodeTruth;
using internal::StateOf;

namespace {

bool IsReadyMaintenance(const NodeMaintenance& object) {
  return std::any_of(object.conditions.begin(), object.conditions.end(), [](const Condition& condition) {
    return condition.type == "Ready" && condition.reason == "Ready";
  });
}

}  // namespace

bool InvariantChecker::Impl::Claims(const NodeMaintenance& object) const {
  const std::string& id = options.requestor_id;
  const auto& others = object.additional_requestors;
  return !id.empty() && (object.requestor_id == id || std::find(others.begin(), others.end(), id) != others.end());
}

void InvariantChecker::Impl::OnMaintenance(const Change& change) {
  const NodeMaintenance* before = change.node_maintenance.before;
  const NodeMaintenance* after = change.node_maintenance.after;
  if (before == nullptr && after == nullptr) return;
  maintenance_revision_ = change.revision;
  const NodeMaintenance& object = after != nullptr ? *after : *before;
  NoteMaintained(object, after != nullptr);
  auto& claims = claims_[object.node_name];
  if (after == nullptr || !Claims(*after)) {
    claims.erase(object.uid);
  } else {
    Claim& claim = claims.try_emplace(object.uid, Claim{.name = object.name, .since = change.revision}).first->second;
    claim.released = object.deletion_timestamp.has_value();
    claim.ready = !claim.released && IsReadyMaintenance(object);
    if (const auto node = nodes.find(object.node_name); claim.ready && node != nodes.end()) {
      node->second.evacuated = true;
    }
  }
  const bool is_claimed =
      std::any_of(claims.begin(), claims.end(), [](const auto& claim) { return !claim.second.released; });
  if (const auto node = nodes.find(object.node_name); node != nodes.end()) {
    absl::Time& until = node->second.claimed_until;
    until = is_claimed ? absl::InfiniteFuture() : std::min(until, change.time);
  }
  if (claims.empty()) claims_.erase(object.node_name);
}

// The maintenance operator lifts its cordon before it releases the object. If another client removes the object, the
// operator does not notice, and the cordon stays. Nothing on the node then shows that the cordon did not belong to an
// upgrade.
void InvariantChecker::Impl::NoteMaintained(const NodeMaintenance& object, bool is_there) {
  auto& objects = maintained_[object.node_name];
  if (is_there) {
    objects.insert(object.uid);
    return;
  }
  objects.erase(object.uid);
  if (!objects.empty()) return;
  maintained_.erase(object.node_name);
  const auto node = nodes.find(object.node_name);
  if (node != nodes.end() && node->second.cordon == internal::Maker::kOperator) node->second.uncertain = true;
}

// T35 and T50, checked against the data that the writer may have read: claims made later do not count.
void InvariantChecker::Impl::JudgeMaintenance(const Node& before, const Node& after, NodeTruth& truth) {
  const auto from = StateOf(before, keys);
  const auto to = StateOf(after, keys);
  if (from == to) return;
  const auto found = claims_.find(after.name);
  if (to == UpgradeState::kDone && from && IsInProgress(*from) && found != claims_.end()) {
    for (const auto& [uid, claim] : found->second) {
      if (claim.since > (writer == nullptr ? 0 : writer->maintenances_read)) continue;
      Fail("I3", fmt::format("node {} is done, and NodeMaintenance {} is still there", after.name, claim.name));
    }
  }
  const bool starts = !internal::IsBusy(from) && !internal::MayGoOn(before, keys) &&
                      after.annotations.contains(options.identity.RequestorModeAnnotation());
  if (from != UpgradeState::kNodeMaintenanceRequired && !starts) return;
  // An unlabeled node on which the driver runs does not need an evacuation.
  const bool is_proved = !internal::HasLabel(before, keys) && !truth.ready_drivers.empty();
  if (to == UpgradeState::kPodRestartRequired && !truth.evacuated && !is_proved) {
    Fail("I2", fmt::format("node {} continued before its NodeMaintenance was ready", after.name));
  }
  if (to == UpgradeState::kNodeMaintenanceRequired) return;
  truth.evacuated = found != claims_.end() && std::any_of(found->second.begin(), found->second.end(),
                                                          [](const auto& claim) { return claim.second.ready; });
}

void InvariantChecker::Impl::CheckMaintenance(const std::string& name, const std::string& uid) {
  if (uid.empty()) Fail("I5", fmt::format("node maintenance {}: a write without a UID", name));
  JudgePolicy("node maintenance " + name);
}

}  // namespace driverupgrade::testing
