// The members of FakeCluster for Dynamic Resource Allocation.

#include <fmt/format.h>

#include <utility>

#include "testing/fake_cluster_run.h"

namespace driverupgrade::testing {

using internal::Description;
using internal::Done;
using internal::Model;

namespace {

template <class T>
absl::StatusOr<std::vector<T>> ListOf(const Model& model) {
  if (absl::Status served = model.devices().Served<T>(); !served.ok()) return served;
  return model.devices().List<T>();
}

}  // namespace

ResourceClaim FakeCluster::AddResourceClaim(ResourceClaimSpec spec) {
  return impl_->With([&](Model& model) { return model.devices().AddClaim(model, std::move(spec)); });
}

ResourceSlice FakeCluster::PublishDevices(ResourceSlice slice) {
  return impl_->With([&](Model& model) { return model.devices().Publish(model, std::move(slice)); });
}

bool FakeCluster::WithdrawDevices(const std::string& driver, const std::string& node_name) {
  return impl_->With([&](Model& model) { return model.devices().Withdraw(model, driver, node_name); });
}

bool FakeCluster::RemoveDeviceTaintRule(const std::string& name) {
  return impl_->With([&](Model& model) { return model.devices().RemoveRule(model, Actor::kAdministrator, name); });
}

std::vector<DeviceTaintRule> FakeCluster::device_taint_rules() const {
  return impl_->With([](Model& model) { return model.devices().List<DeviceTaintRule>(); });
}

std::vector<ResourceClaim> FakeCluster::resource_claims() const {
  return impl_->With([](Model& model) { return model.devices().List<ResourceClaim>(); });
}

std::vector<ResourceSlice> FakeCluster::resource_slices() const {
  return impl_->With([](Model& model) { return model.devices().List<ResourceSlice>(); });
}

bool FakeCluster::CanAllocate(const std::string& node_name, const std::vector<DeviceRequest>& requests) const {
  return impl_->With([&](Model& model) { return model.devices().CanAllocate(requests, node_name, model.now()); });
}

absl::StatusOr<std::vector<DeviceTaintRule>> FakeCluster::ListDeviceTaintRules(const CallContext& context,
                                                                               const ListDeviceTaintRulesParams&) {
  return impl_->Run<std::vector<DeviceTaintRule>>(
      context, Operation::kListDeviceTaintRules, [] { return Description(); },
      [](Model& model) { return ListOf<DeviceTaintRule>(model); });
}

absl::StatusOr<std::vector<ResourceClaim>> FakeCluster::ListResourceClaims(const CallContext& context,
                                                                           const ListResourceClaimsParams& params) {
  return impl_->Run<std::vector<ResourceClaim>>(
      context, Operation::kListResourceClaims, [&] { return Description(params.ns, ""); },
      [&](Model& model) {
        absl::StatusOr<std::vector<ResourceClaim>> claims = ListOf<ResourceClaim>(model);
        if (claims.ok() && !params.ns.empty()) {
          std::erase_if(*claims, [&](const ResourceClaim& claim) { return claim.ns != params.ns; });
        }
        return claims;
      });
}

absl::StatusOr<std::vector<ResourceSlice>> FakeCluster::ListResourceSlices(const CallContext& context,
                                                                           const ListResourceSlicesParams& params) {
  return impl_->Run<std::vector<ResourceSlice>>(
      context, Operation::kListResourceSlices, [&] { return Description(params.node_name, ""); },
      [&](Model& model) {
        absl::StatusOr<std::vector<ResourceSlice>> slices = ListOf<ResourceSlice>(model);
        if (slices.ok() && !params.node_name.empty()) {
          std::erase_if(*slices, [&](const ResourceSlice& slice) { return slice.node_name != params.node_name; });
        }
        return slices;
      });
}

absl::StatusOr<DeviceTaintRule> FakeCluster::CreateDeviceTaintRule(const CallContext& context,
                                                                   const CreateDeviceTaintRuleParams& params) {
  const DeviceTaintRule& rule = params.object;
  return impl_->Run<DeviceTaintRule>(
      context, Operation::kCreateDeviceTaintRule,
      [&] {
        return Description(rule.name, fmt::format("{}/{} {}={}:{}", rule.driver, rule.pool, rule.key, rule.value,
                                                  ToString(rule.effect)));
      },
      [&](Model& model) { return model.devices().Create(model, rule); });
}

absl::StatusOr<DeviceTaintRule> FakeCluster::PatchDeviceTaintRule(const CallContext& context,
                                                                  const PatchDeviceTaintRuleParams& params) {
  return impl_->Run<DeviceTaintRule>(
      context, Operation::kPatchDeviceTaintRule,
      [&] {
        return Description(params.name,
                           fmt::format("resourceVersion={} {}", params.resource_version, ToString(params.effect)));
      },
      [&](Model& model) { return model.devices().Patch(model, params); });
}

absl::Status FakeCluster::DeleteDeviceTaintRule(const CallContext& context, const DeleteDeviceTaintRuleParams& params) {
  return impl_
      ->Run<Done>(
          context, Operation::kDeleteDeviceTaintRule,
          [&] { return Description(params.name, fmt::format("uid={}", params.uid)); },
          [&](Model& model) -> absl::StatusOr<Done> {
            if (absl::Status status = model.devices().Delete(model, params); !status.ok()) return status;
            return Done{};
          })
      .status();
}

}  // namespace driverupgrade::testing
