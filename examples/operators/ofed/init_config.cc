#include "ofed/init_config.h"

#include <utility>

#include "support/json.h"

namespace ofed_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ConfigMap;
using driverupgrade::DriverIdentity;
using driverupgrade::UpgradePolicy;

constexpr absl::Duration kLookAgain = absl::Minutes(2);
constexpr absl::Duration kInitConfigRetry = absl::Seconds(5);

}  // namespace

std::string InitConfig(std::string_view present, const DriverIdentity& identity, const UpgradePolicy& policy) {
  const bool enable = policy.auto_upgrade && policy.safe_load;
  const std::string annotation = identity.SafeLoadAnnotation();
  absl::StatusOr<rapidjson::Document> parsed = examples::ParseJson(present);
  rapidjson::Document config(rapidjson::kObjectType);
  if (parsed.ok() && parsed->IsObject()) config.Swap(*parsed);
  const rapidjson::Value* section = examples::Find(config, {"safeDriverLoad"});
  const bool as_wanted = section != nullptr && examples::Find(*section, {"enable"}) != nullptr &&
                         examples::Flag(*section, {"enable"}) == enable &&
                         examples::Text(*section, {"annotation"}) == annotation;
  if (as_wanted) return std::string(present);
  auto& allocator = config.GetAllocator();
  rapidjson::Value wanted(rapidjson::kObjectType);
  wanted.AddMember("enable", enable, allocator);
  wanted.AddMember("annotation", rapidjson::Value(annotation.c_str(), allocator), allocator);
  config.RemoveMember("safeDriverLoad");
  config.AddMember("safeDriverLoad", wanted, allocator);
  return examples::ToText(config);
}

InitConfigKeeper::InitConfigKeeper(std::shared_ptr<driverupgrade::ClusterFacade> cluster, std::string ns,
                                   const DriverIdentity& identity, std::shared_ptr<driverupgrade::Clock> clock)
    : cluster_(std::move(cluster)), ns_(std::move(ns)), identity_(identity), clock_(std::move(clock)) {}

absl::Time InitConfigKeeper::Keep(const CallContext& context, const UpgradePolicy& policy) {
  const absl::Time now = clock_->Now();
  const std::string wanted = InitConfig("", identity_, policy);
  if (wanted == written_ && now < due_) return due_;
  status_ = Write(context, policy);
  // After a conflict, the next call first reads the other client's change, and then writes.
  written_ = status_.ok() ? wanted : "";
  due_ = now + (status_.ok() ? kLookAgain : kInitConfigRetry);
  return due_;
}

absl::Status InitConfigKeeper::Write(const CallContext& context, const UpgradePolicy& policy) {
  const absl::StatusOr<ConfigMap> present = cluster_->GetConfigMap(context, {.ns = ns_, .name = kInitConfigMap});
  if (absl::IsNotFound(present.status())) {
    const ConfigMap made{
        .ns = ns_, .name = kInitConfigMap, .data = {{kInitConfigKey, InitConfig("", identity_, policy)}}};
    return cluster_->CreateConfigMap(context, made).status();
  }
  if (!present.ok()) return present.status();
  const auto found = present->data.find(kInitConfigKey);
  const std::string before = found == present->data.end() ? "" : found->second;
  const std::string after = InitConfig(before, identity_, policy);
  if (after == before) return absl::OkStatus();
  return cluster_
      ->PatchConfigMap(context, {.ns = ns_,
                                 .name = kInitConfigMap,
                                 .uid = present->uid,
                                 .resource_version = present->resource_version,
                                 .data = {{kInitConfigKey, after}}})
      .status();
}

}  // namespace ofed_operator
