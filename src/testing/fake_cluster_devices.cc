#include "testing/fake_cluster_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "model/label_syntax.h"
#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {

namespace {

constexpr char kCondition[] = "EvictionInProgress";

absl::Status NotFound(const std::string& name) {
  return absl::NotFoundError(fmt::format("devicetaintrules.resource.k8s.io \"{}\" not found", name));
}

absl::Status Conflict(const std::string& name, std::string_view why) {
  return absl::AbortedError(
      fmt::format("Operation cannot be fulfilled on devicetaintrules.resource.k8s.io \"{}\": {}", name, why));
}

absl::Time WholeSecond(absl::Time time) { return absl::FromUnixSeconds(absl::ToUnixSeconds(time)); }

absl::Status Check(const DeviceTaintRule& rule) {
  const auto invalid = [&](std::string_view why) {
    return absl::InvalidArgumentError(fmt::format("DeviceTaintRule \"{}\" is invalid: {}", rule.name, why));
  };
  if (!driverupgrade::internal::IsDnsSubdomain(rule.name)) return invalid("metadata.name");
  if (!driverupgrade::internal::IsLabelKey(rule.key)) return invalid("spec.taint.key");
  if (!driverupgrade::internal::IsLabelValue(rule.value)) return invalid("spec.taint.value");
  return absl::OkStatus();
}

bool IsOn(const ResourceClaim& claim, const std::string& node_name) {
  return std::all_of(claim.allocated.begin(), claim.allocated.end(),
                     [&](const AllocatedPool& pool) { return pool.pool == node_name; });
}

}  // namespace

template <class T>
absl::Status Devices::Served() const {
  using Served = DeviceOptions::Served;
  const bool served =
      options_.served == Served::kRules || (options_.served == Served::kClaims && !std::is_same_v<T, DeviceTaintRule>);
  return served ? absl::OkStatus() : absl::NotFoundError("the server could not find the requested resource");
}

template <class T>
std::vector<T> Devices::List() const {
  std::vector<T> objects;
  if constexpr (std::is_same_v<T, DeviceTaintRule>) {
    for (const auto& [name, record] : rules_) objects.push_back(record.rule);
  } else if constexpr (std::is_same_v<T, ResourceClaim>) {
    for (const auto& [key, record] : claims_) objects.push_back(record.claim);
  } else {
    for (const auto& [pool, slice] : slices_) objects.push_back(slice);
    std::sort(objects.begin(), objects.end(), [](const T& a, const T& b) { return a.name < b.name; });
  }
  return objects;
}

template absl::Status Devices::Served<DeviceTaintRule>() const;
template absl::Status Devices::Served<ResourceClaim>() const;
template absl::Status Devices::Served<ResourceSlice>() const;
template std::vector<DeviceTaintRule> Devices::List() const;
template std::vector<ResourceClaim> Devices::List() const;
template std::vector<ResourceSlice> Devices::List() const;

// ----- rules

void Devices::Put(Model& model, Actor actor, RuleRecord& record, DeviceTaintRule rule) {
  rule.resource_version = record.rule.resource_version;
  if (rule == record.rule) return;
  const bool is_new = record.rule.uid.empty();
  rules_by_pool_.emplace(rule.driver, rule.pool, rule.name);
  const bool is_other_effect = is_new || rule.effect != record.rule.effect;
  if (is_other_effect) {
    ++rule.generation;
    rule.time_added = WholeSecond(model.now_);
    record.since = rule.effect == DeviceTaintEffect::kNone ? absl::InfiniteFuture() : model.now_;
  }
  rule.resource_version = model.NextVersion();
  const auto before = Share(std::exchange(record.rule, std::move(rule)));
  model.Commit(actor, &Change::device_taint_rule, is_new ? nullptr : before, Share(record.rule));
  if (!is_other_effect) return;
  model.QueueSchedule();
  if (options_.controller_delay) {
    model.Queue(*options_.controller_delay,
                {.kind = EffectKind::kStepDeviceTaintRule, .key = {"", record.rule.name}, .uid = record.rule.uid});
  }
}

absl::StatusOr<DeviceTaintRule> Devices::Create(Model& model, DeviceTaintRule rule) {
  if (absl::Status status = Served<DeviceTaintRule>(); !status.ok()) return status;
  rule.uid = model.NewUid();
  rule.generation = 0;
  rule.conditions.clear();
  rule.deletion_timestamp.reset();
  if (absl::Status status = Check(rule); !status.ok()) return status;
  const auto [found, inserted] = rules_.try_emplace(rule.name);
  if (!inserted) {
    return absl::AlreadyExistsError(fmt::format("devicetaintrules.resource.k8s.io \"{}\" already exists", rule.name));
  }
  Put(model, Actor::kClient, found->second, std::move(rule));
  return found->second.rule;
}

absl::StatusOr<DeviceTaintRule> Devices::Patch(Model& model, const PatchDeviceTaintRuleParams& params) {
  if (params.name.empty() || params.uid.empty() || params.resource_version.empty()) {
    return absl::InvalidArgumentError("patch device taint rule: name, uid and resourceVersion are required");
  }
  if (absl::Status status = Served<DeviceTaintRule>(); !status.ok()) return status;
  const auto found = rules_.find(params.name);
  if (found == rules_.end()) return NotFound(params.name);
  const DeviceTaintRule& rule = found->second.rule;
  if (rule.resource_version != params.resource_version) {
    return Conflict(params.name,
                    "the object has been modified; please apply your changes to the latest version and try again");
  }
  if (rule.uid != params.uid) {
    return Conflict(params.name, fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                                             params.uid, rule.uid));
  }
  DeviceTaintRule patched = rule;
  patched.effect = params.effect;
  Put(model, Actor::kClient, found->second, std::move(patched));
  return found->second.rule;
}

absl::Status Devices::Delete(Model& model, const DeleteDeviceTaintRuleParams& params) {
  if (params.name.empty() || params.uid.empty()) {
    return absl::InvalidArgumentError("delete device taint rule: name and uid are required");
  }
  if (!Served<DeviceTaintRule>().ok()) return absl::OkStatus();
  const auto found = rules_.find(params.name);
  if (found != rules_.end() && found->second.rule.uid == params.uid) RemoveRule(model, Actor::kClient, params.name);
  return absl::OkStatus();
}

bool Devices::RemoveRule(Model& model, Actor actor, const std::string& name) {
  auto record = rules_.extract(name);
  if (record.empty()) return false;
  const DeviceTaintRule& rule = record.mapped().rule;
  rules_by_pool_.erase({rule.driver, rule.pool, name});
  model.NextVersion();
  model.Commit(actor, &Change::device_taint_rule, Share(std::move(record.mapped().rule)), nullptr);
  model.QueueSchedule();
  return true;
}

// Sets the rule's condition as Kubernetes 1.37 does: its status is False for every effect except NoExecute.
void Devices::StepRule(Model& model, const Effect& effect) {
  const auto found = rules_.find(effect.key.second);
  if (found == rules_.end() || found->second.rule.uid != effect.uid) return;
  DeviceTaintRule rule = found->second.rule;
  const bool previews = rule.effect == DeviceTaintEffect::kNone;
  rule.conditions = {{.type = kCondition,
                      .status = "False",
                      .reason = previews ? "NoEffect" : "OtherEffect",
                      .message = previews ? "nothing is evicted by this effect" : "",
                      .last_transition_time = WholeSecond(model.now_),
                      .observed_generation = rule.generation}};
  Put(model, Actor::kCluster, found->second, std::move(rule));
}

bool Devices::IsTainted(const Pool& pool, absl::Time now) const {
  // An empty driver or pool in a rule selects everything.
  for (const std::string& driver : {std::string(), pool.first}) {
    for (const std::string& name : {std::string(), pool.second}) {
      auto rule = rules_by_pool_.lower_bound({driver, name, ""});
      for (; rule != rules_by_pool_.end() && std::get<0>(*rule) == driver && std::get<1>(*rule) == name; ++rule) {
        if (rules_.at(std::get<2>(*rule)).since + options_.late_allocations <= now) return true;
      }
    }
  }
  return false;
}

// ----- claims

void Devices::Put(Model& model, ClaimRecord& record, ResourceClaim claim) {
  claim.resource_version = record.claim.resource_version;
  if (claim == record.claim) return;
  const bool is_new = record.claim.uid.empty();
  claim.resource_version = model.NextVersion();
  Count(record, -1);
  const auto before = Share(std::exchange(record.claim, std::move(claim)));
  Count(record, +1);
  model.Commit(Actor::kCluster, &Change::resource_claim, is_new ? nullptr : before, Share(record.claim));
}

void Devices::Erase(Model& model, const Key& claim) {
  auto record = claims_.extract(claim);
  Count(record.mapped(), -1);
  model.NextVersion();
  model.Commit(Actor::kCluster, &Change::resource_claim, Share(std::move(record.mapped().claim)), nullptr);
}

ResourceClaim Devices::AddClaim(Model& model, ResourceClaimSpec spec) {
  const Key key(spec.ns, spec.name);
  if (claims_.contains(key)) Erase(model, key);
  ClaimRecord& record = claims_[key];
  record.request = std::move(spec.request);
  Put(model, record, {.ns = spec.ns, .name = spec.name, .uid = model.NewUid(), .pod_uid = spec.pod_uid});
  model.QueueSchedule();
  return record.claim;
}

int Devices::Free(const Pool& pool) const {
  const auto slice = slices_.find(pool);
  if (slice == slices_.end()) return 0;
  const auto used = used_.find(pool);
  return static_cast<int>(slice->second.devices.size()) - (used == used_.end() ? 0 : used->second);
}

void Devices::Count(const ClaimRecord& record, int sign) {
  if (record.claim.allocated.empty() || record.request.admin_access) return;
  const Pool pool(record.request.driver, record.claim.allocated.front().pool);
  used_[pool] += sign * record.request.count;
  UpdateFree(pool);
}

void Devices::UpdateFree(const Pool& pool) {
  std::set<std::string>& nodes = free_[pool.first];
  if (Free(pool) > 0) {
    nodes.insert(pool.second);
  } else {
    nodes.erase(pool.second);
  }
}

bool Devices::CanAllocate(const std::vector<DeviceRequest>& requests, const std::string& node_name,
                          absl::Time now) const {
  std::map<Pool, int> wanted;
  for (const DeviceRequest& request : requests) {
    if (request.count == 0 && !request.admin_access) continue;
    wanted[{request.driver, node_name}] += request.admin_access ? 0 : request.count;
  }
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const auto& [pool, count] = entry;
    return slices_.contains(pool) && count <= Free(pool) && !IsTainted(pool, now);
  });
}

// A claim that is already allocated is not checked again, regardless of device taints.
bool Devices::Fits(const Model& model, const Pod& pod, const std::string& node_name) const {
  std::vector<DeviceRequest> requests;
  for (const std::string& name : pod.resource_claims) {
    const auto found = claims_.find({pod.ref.ns, name});
    if (found == claims_.end()) return false;
    const ClaimRecord& record = found->second;
    if (record.claim.allocated.empty()) {
      requests.push_back(record.request);
    } else if (!IsOn(record.claim, node_name)) {
      return false;
    }
  }
  return CanAllocate(requests, node_name, model.now());
}

const std::set<std::string>& Devices::Candidates(const Pod& pod, const std::set<std::string>& open) const {
  static const std::set<std::string> kNone;
  for (const std::string& name : pod.resource_claims) {
    const auto found = claims_.find({pod.ref.ns, name});
    if (found == claims_.end()) return kNone;
    const ClaimRecord& record = found->second;
    if (!record.claim.allocated.empty() || record.request.admin_access || record.request.count == 0) continue;
    const auto nodes = free_.find(record.request.driver);
    return nodes == free_.end() ? kNone : nodes->second;
  }
  return open;
}

std::string Devices::RequestsOf(const Pod& pod) const {
  std::string text;
  for (const std::string& name : pod.resource_claims) {
    const auto found = claims_.find({pod.ref.ns, name});
    if (found == claims_.end() || !found->second.claim.allocated.empty()) return "";
    const DeviceRequest& request = found->second.request;
    text += fmt::format("{} {} {}\n", request.driver, request.count, request.admin_access);
  }
  return text;
}

Devices::PodClaims Devices::ClaimsOf(const Pod& pod) const {
  PodClaims claims;
  for (const std::string& name : pod.resource_claims) {
    const auto found = claims_.find({pod.ref.ns, name});
    if (found == claims_.end()) continue;
    if (found->second.claim.pod_uid.empty()) {
      claims.shared.push_back(name);
    } else {
      claims.own.push_back(found->second.request);
    }
  }
  return claims;
}

void Devices::Reserve(Model& model, const Pod& pod, const std::string& node_name) {
  for (const std::string& name : pod.resource_claims) {
    const auto found = claims_.find({pod.ref.ns, name});
    if (found == claims_.end()) continue;
    ClaimRecord& record = found->second;
    ResourceClaim claim = record.claim;
    if (claim.allocated.empty()) {
      claim.allocated = {
          {.driver = record.request.driver, .pool = node_name, .admin_access = record.request.admin_access}};
      claim.allocation_time = WholeSecond(model.now_);
    }
    const ClaimConsumer consumer{.resource = "pods", .name = pod.ref.name, .uid = pod.ref.uid};
    auto& consumers = claim.reserved_for;
    const auto place = std::lower_bound(consumers.begin(), consumers.end(), consumer,
                                        [](const auto& a, const auto& b) { return a.uid < b.uid; });
    if (place == consumers.end() || place->uid != consumer.uid) consumers.insert(place, consumer);
    Put(model, record, std::move(claim));
  }
}

void Devices::PodIsOver(Model& model, const Pod& pod) {
  for (const std::string& name : pod.resource_claims) {
    const Key key(pod.ref.ns, name);
    const auto found = claims_.find(key);
    if (found == claims_.end()) continue;
    ResourceClaim claim = found->second.claim;
    std::erase_if(claim.reserved_for, [&](const ClaimConsumer& consumer) { return consumer.uid == pod.ref.uid; });
    if (claim.reserved_for.empty()) {
      claim.allocated.clear();
      claim.allocation_time.reset();
    }
    Put(model, found->second, std::move(claim));
    if (found->second.claim.pod_uid == pod.ref.uid) Erase(model, key);
    model.QueueSchedule();
  }
}

// ----- slices

ResourceSlice Devices::Publish(Model& model, ResourceSlice slice) {
  const Pool pool(slice.driver, slice.node_name);
  const auto [found, inserted] = slices_.try_emplace(pool);
  ResourceSlice& stored = found->second;
  if (!inserted && stored.devices == slice.devices) return stored;
  slice.name = fmt::format("0-{}-{}", slice.driver, slice.node_name);
  slice.uid = inserted ? model.NewUid() : stored.uid;
  slice.pool = slice.node_name;
  slice.pool_generation = ++generations_[pool];
  slice.pool_slices = 1;
  slice.resource_version = model.NextVersion();
  const auto before = Share(std::exchange(stored, std::move(slice)));
  UpdateFree(pool);
  model.Commit(Actor::kCluster, &Change::resource_slice, inserted ? nullptr : before, Share(stored));
  model.QueueSchedule();
  return stored;
}

void Devices::EraseSlice(Model& model, const Pool& pool) {
  auto slice = slices_.extract(pool);
  UpdateFree(pool);
  model.NextVersion();
  model.Commit(Actor::kCluster, &Change::resource_slice, Share(std::move(slice.mapped())), nullptr);
}

bool Devices::Withdraw(Model& model, const std::string& driver, const std::string& node_name) {
  if (!slices_.contains({driver, node_name})) return false;
  EraseSlice(model, {driver, node_name});
  return true;
}

void Devices::NodeIsGone(Model& model, const Node& node) {
  std::vector<std::string> rules;
  for (const auto& [name, record] : rules_) {
    if (record.rule.node_uid == node.uid) rules.push_back(name);
  }
  for (const std::string& name : rules) RemoveRule(model, Actor::kCluster, name);
  std::vector<Pool> pools;
  for (const auto& [pool, slice] : slices_) {
    if (pool.second == node.name) pools.push_back(pool);
  }
  for (const Pool& pool : pools) EraseSlice(model, pool);
}

}  // namespace driverupgrade::testing::internal
