// Implements the API server's part in handling NodeMaintenances.

#include "testing/fake_cluster_maintenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "absl/strings/ascii.h"
#include "model/label_syntax.h"
#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

namespace {

absl::Status NotFound(const std::string& name) {
  return absl::NotFoundError(fmt::format("nodemaintenances \"{}\" not found", name));
}

absl::Status Invalid(const std::string& name, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("NodeMaintenance \"{}\" is invalid: {}", name, why));
}

absl::Status Conflict(const std::string& name, std::string_view why) {
  return absl::AbortedError(fmt::format("Operation cannot be fulfilled on nodemaintenances \"{}\": {}", name, why));
}

template <class T, class F>
bool HasDuplicates(const std::vector<T>& items, F key) {
  std::set<std::string> seen;
  return std::any_of(items.begin(), items.end(), [&](const T& item) { return !seen.insert(key(item)).second; });
}

// Validates the fields that can violate the schema.
absl::Status CheckSchema(const NodeMaintenance& object) {
  const std::string& id = object.requestor_id;
  if (id.size() < 2 || id.size() > 63 || !driverupgrade::internal::IsDnsSubdomain(absl::AsciiStrToLower(id))) {
    return Invalid(object.name, "spec.requestorID");
  }
  if (HasDuplicates(object.additional_requestors, [](const std::string& one) { return one; })) {
    return Invalid(object.name, "spec.additionalRequestors: duplicate");
  }
  if (HasDuplicates(object.conditions, [](const Condition& condition) { return condition.type; })) {
    return Invalid(object.name, "status.conditions: duplicate");
  }
  return absl::OkStatus();
}

}  // namespace

void Model::EditMaintenance(Actor actor, MaintenanceRecord& record, const std::function<void(NodeMaintenance&)>& edit,
                            bool metadata_changed) {
  NodeMaintenance object = record.object;
  edit(object);
  if (object == record.object && !metadata_changed) return;
  if (object.additional_requestors != record.object.additional_requestors) ++record.generation;
  object.resource_version = NextVersion();
  const auto before = Share(std::exchange(record.object, std::move(object)));
  Commit(actor, &Change::node_maintenance, before, Share(record.object));
  if (before->conditions != record.object.conditions || record.object.deletion_timestamp.has_value()) {
    if (maintenance_operator_.has_value()) WakeMaintenance(record, maintenance_operator_->step_delay);
  }
}

void Model::EraseMaintenance(Actor actor, const Key& key) {
  MaintenanceRecord record = std::move(maintenances_.extract(key).mapped());
  NextVersion();
  Commit(actor, &Change::node_maintenance, Share(std::move(record.object)), nullptr);
  WakePendingMaintenances();
}

NodeMaintenance Model::AddNodeMaintenance(NodeMaintenance maintenance) {
  const Key key = KeyOf(maintenance);
  if (maintenances_.count(key) > 0) EraseMaintenance(Actor::kAdministrator, key);
  if (maintenance.uid.empty()) maintenance.uid = NewUid();
  maintenance.resource_version = NextVersion();
  MaintenanceRecord record{.object = std::move(maintenance), .number = ++maintenance_count_};
  const bool past_cordon = IsPastCordon(record.object);
  record.has_finalizer =
      past_cordon || ReasonOf(record.object) == kCordon || record.object.deletion_timestamp.has_value();
  if (past_cordon && record.object.cordon) record.initially_unschedulable = false;
  MaintenanceRecord& stored = maintenances_.emplace(key, std::move(record)).first->second;
  Commit(Actor::kAdministrator, &Change::node_maintenance, nullptr, Share(stored.object));
  if (maintenance_operator_.has_value()) WakeMaintenance(stored, maintenance_operator_->step_delay);
  return stored.object;
}

bool Model::EditNodeMaintenance(const Key& key, const std::function<void(NodeMaintenance&)>& edit) {
  auto found = maintenances_.find(key);
  if (found == maintenances_.end()) return false;
  EditMaintenance(Actor::kAdministrator, found->second, [&](NodeMaintenance& object) {
    const std::string uid = object.uid;
    edit(object);
    object.ns = key.first;
    object.name = key.second;
    object.uid = uid;
  });
  return true;
}

bool Model::RemoveNodeMaintenance(const Key& key) {
  if (maintenances_.count(key) == 0) return false;
  EraseMaintenance(Actor::kAdministrator, key);
  return true;
}

const NodeMaintenance* Model::FindNodeMaintenance(const Key& key) const {
  auto found = maintenances_.find(key);
  return found == maintenances_.end() ? nullptr : &found->second.object;
}

std::vector<NodeMaintenance> Model::ListNodeMaintenances(const std::string& ns) const {
  std::vector<NodeMaintenance> result;
  for (auto it = maintenances_.lower_bound({ns, ""}); it != maintenances_.end(); ++it) {
    if (!ns.empty() && it->first.first != ns) break;
    result.push_back(it->second.object);
  }
  return result;
}

absl::StatusOr<NodeMaintenance> Model::CreateNodeMaintenance(NodeMaintenance object) {
  if (object.ns.empty() || object.name.empty()) {
    return absl::InvalidArgumentError("create node maintenance: namespace and name are required");
  }
  if (IsTerminating(object.ns)) {
    return absl::PermissionDeniedError(
        fmt::format("nodemaintenances \"{}\" is forbidden: unable to create new content in namespace {} because it is "
                    "being terminated",
                    object.name, object.ns));
  }
  object.uid = NewUid();
  object.deletion_timestamp.reset();
  object.node_uid.clear();
  object.conditions.clear();
  if (absl::Status status = CheckSchema(object); !status.ok()) return status;
  const Key key = KeyOf(object);
  if (maintenances_.count(key) > 0) {
    return absl::AlreadyExistsError(fmt::format("nodemaintenances \"{}\" already exists", object.name));
  }
  object.resource_version = NextVersion();
  MaintenanceRecord& stored =
      maintenances_.emplace(key, MaintenanceRecord{.object = std::move(object), .number = ++maintenance_count_})
          .first->second;
  Commit(Actor::kClient, &Change::node_maintenance, nullptr, Share(stored.object));
  if (maintenance_operator_.has_value()) WakeMaintenance(stored, maintenance_operator_->step_delay);
  return stored.object;
}

absl::StatusOr<NodeMaintenance> Model::PatchNodeMaintenance(const PatchNodeMaintenanceParams& params) {
  if (params.ns.empty() || params.name.empty() || params.uid.empty() || params.resource_version.empty()) {
    return absl::InvalidArgumentError("patch node maintenance: namespace, name, uid and resourceVersion are required");
  }
  if (params.additional_requestors.has_value() && params.conditions.has_value()) {
    return absl::InvalidArgumentError("patch node maintenance: additional requestors and conditions are two patches");
  }
  auto found = maintenances_.find({params.ns, params.name});
  if (found == maintenances_.end()) return NotFound(params.name);
  const NodeMaintenance& object = found->second.object;
  if (object.resource_version != params.resource_version) {
    // api-A24: the version is a precondition.
    return Conflict(params.name,
                    "the object has been modified; please apply your changes to the latest version and try again");
  }
  if (object.uid != params.uid) {
    return Conflict(params.name, fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                                             params.uid, object.uid));
  }
  const auto apply = [&](NodeMaintenance& edited) {
    if (params.additional_requestors.has_value()) edited.additional_requestors = *params.additional_requestors;
    if (params.conditions.has_value()) edited.conditions = *params.conditions;
  };
  NodeMaintenance patched = object;
  apply(patched);
  if (absl::Status status = CheckSchema(patched); !status.ok()) return status;
  EditMaintenance(Actor::kClient, found->second, apply);
  return found->second.object;
}

absl::Status Model::DeleteNodeMaintenance(const DeleteNodeMaintenanceParams& params) {
  if (params.ns.empty() || params.name.empty() || params.uid.empty()) {
    return absl::InvalidArgumentError("delete node maintenance: namespace, name and uid are required");
  }
  const Key key(params.ns, params.name);
  const NodeMaintenance* object = FindNodeMaintenance(key);
  if (object != nullptr && object->uid == params.uid) StartMaintenanceDeletion(Actor::kClient, key);
  return absl::OkStatus();
}

void Model::StartMaintenanceDeletion(Actor actor, const Key& key) {
  MaintenanceRecord& record = maintenances_.at(key);
  if (record.object.deletion_timestamp.has_value()) return;
  if (!record.has_finalizer) return EraseMaintenance(actor, key);
  EditMaintenance(actor, record, [&](NodeMaintenance& object) { object.deletion_timestamp = now_; });
}

// Garbage collection: the NodeMaintenances that a Node owns are deleted with it.
void Model::CollectMaintenances(const std::string& node_uid) {
  std::vector<Key> keys;
  for (const auto& [key, record] : maintenances_) {
    if (record.object.node_uid == node_uid) keys.push_back(key);
  }
  for (const Key& key : keys) StartMaintenanceDeletion(Actor::kCluster, key);
}

}  // namespace driverupgrade::testing::internal
