#include "upgradectl/reported.h"

#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"
#include "wire/json_document.h"

namespace upgradectl {
namespace {

using driverupgrade::DriverIdentity;

constexpr std::string_view kLive = "live";

std::string NameOf(const LeaseFact& lease) { return fmt::format("Lease {}/{}", lease.ns, lease.name); }

}  // namespace

std::optional<std::string> EngineOfLive(std::string_view policy) {
  if (!policy.starts_with(kLive)) return std::nullopt;
  policy.remove_prefix(kLive.size());
  if (policy.empty()) return std::string();
  if (policy.front() != ':') return std::nullopt;
  return std::string(policy.substr(1));
}

std::optional<LeaseFact> LeaseOf(const DriverIdentity& identity, const DriverPlace& place, const Facts& facts) {
  const std::string ending = fmt::format("{}-driver-upgrade", identity.driver());
  const auto rank = [&](const LeaseFact& lease) {
    return std::tuple(lease.annotations.contains(identity.PolicyAnnotation()), lease.name.ends_with(ending),
                      lease.renewed);
  };
  const LeaseFact* found = nullptr;
  for (const LeaseFact& lease : facts.leases) {
    if (lease.ns != place.lease_ns) continue;
    const bool reports = lease.annotations.contains(identity.PolicyAnnotation());
    const bool ours = place.lease.empty() ? reports || lease.name.ends_with(ending) : lease.name == place.lease;
    if (ours && (found == nullptr || rank(*found) < rank(lease))) found = &lease;
  }
  return found == nullptr ? std::nullopt : std::optional(*found);
}

absl::StatusOr<ReportedPolicy> ReadReported(const DriverIdentity& identity, const DriverPlace& place,
                                            const Facts& facts, const std::string& engine) {
  std::optional<LeaseFact> lease = LeaseOf(identity, place, facts);
  if (!lease) {
    return absl::NotFoundError(fmt::format(
        "no Lease of its operator in namespace {}: set --lease-namespace and --lease-name", place.lease_ns));
  }
  const auto text = lease->annotations.find(identity.PolicyAnnotation());
  if (text == lease->annotations.end()) {
    return absl::NotFoundError(fmt::format("{} has no annotation {}", NameOf(*lease), identity.PolicyAnnotation()));
  }
  const auto malformed = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        fmt::format("{}: annotation {}: {}", NameOf(*lease), identity.PolicyAnnotation(), why));
  };
  driverupgrade::internal::JsonDocument document;
  if (const absl::Status parsed = document.Parse(text->second); !parsed.ok()) return malformed(Message(parsed));
  if (!document.root().IsObject()) return malformed("is not a JSON object");
  std::vector<std::string> engines;
  const json::Value* found = nullptr;
  for (const auto& [name, policy] : document.root().GetObject()) {
    engines.push_back(fmt::format("live:{}", name.GetString()));
    if (engine == name.GetString()) found = &policy;
  }
  if (found == nullptr && engine.empty() && engines.size() == 1) found = &document.root().MemberBegin()->value;
  if (found == nullptr) {
    if (engines.empty()) return absl::NotFoundError(fmt::format("{} has no policy", NameOf(*lease)));
    return absl::InvalidArgumentError(
        fmt::format("{} has the policies of several engines: {}", NameOf(*lease), absl::StrJoin(engines, ", ")));
  }
  // No defaults are needed, because the report contains every field, including the fields that an operator adds to its
  // policies.
  absl::StatusOr<driverupgrade::UpgradePolicy> policy = driverupgrade::ParseUpgradePolicy(Compact(*found), {});
  if (!policy.ok()) return malformed(Message(policy.status()));
  return ReportedPolicy{.policy = *std::move(policy), .lease = *std::move(lease)};
}

bool HasRunOut(const LeaseFact& lease, absl::Time at) {
  return lease.holder.empty() || at > lease.renewed + lease.duration;
}

std::string DescribeReport(const LeaseFact& lease, absl::Time at) {
  const std::string age = Age(at - lease.renewed);
  if (lease.holder.empty()) {
    return fmt::format("policy reported by a leader that released {} {} ago: there is no leader", NameOf(lease), age);
  }
  if (HasRunOut(lease, at)) {
    return fmt::format("policy reported by {}, whose {} has expired, renewed {} ago: it may no longer be in effect",
                       lease.holder, NameOf(lease), age);
  }
  return fmt::format("policy reported by {} ({}, renewed {} ago)", lease.holder, NameOf(lease), age);
}

}  // namespace upgradectl
