#include "upgradectl/facts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "fmt/format.h"
#include "support/gpu_claims.h"
#include "upgradectl/json_view.h"

namespace upgradectl {
namespace {

using driverupgrade::whatif::KeyOf;

PolicyObject ReadPolicy(const json::Value& object, const PolicyResource& resource) {
  PolicyObject policy{.name = Text(object, {"metadata", "name"}),
                      .uid = Text(object, {"metadata", "uid"}),
                      .resource_version = Text(object, {"metadata", "resourceVersion"})};
  const json::Value* section = &object;
  for (const std::string& name : resource.path) {
    if (section != nullptr) section = Find(*section, {name.c_str()});
  }
  if (section != nullptr && section->IsObject()) policy.section_json = Compact(*section);
  return policy;
}

// Returns the tag of an image, such as 1.2 for "registry:5000/team/operator:1.2@sha256:...".
std::string TagOf(std::string image) {
  image.resize(std::min(image.size(), image.find('@')));
  const std::size_t colon = image.rfind(':');
  const bool is_tag = colon != std::string::npos && image.find('/', colon) == std::string::npos;
  return is_tag ? image.substr(colon + 1) : "";
}

DeploymentFact ReadDeployment(const json::Value& deployment) {
  DeploymentFact facts{.ns = Text(deployment, {"metadata", "namespace"}),
                       .name = Text(deployment, {"metadata", "name"}),
                       .version = Text(deployment, {"metadata", "labels", "app.kubernetes.io/version"})};
  const auto containers = Items(deployment, {"spec", "template", "spec", "containers"});
  if (facts.version.empty() && !containers.Empty()) facts.version = TagOf(Text(containers[0], {"image"}));
  return facts;
}

LeaseFact ReadLease(const json::Value& lease) {
  LeaseFact facts{.ns = Text(lease, {"metadata", "namespace"}),
                  .name = Text(lease, {"metadata", "name"}),
                  .holder = Text(lease, {"spec", "holderIdentity"}),
                  .renewed = TimeAt(lease, {"spec", "renewTime"}),
                  .duration = absl::Seconds(Integer(lease, {"spec", "leaseDurationSeconds"}))};
  const json::Value* annotations = Find(lease, {"metadata", "annotations"});
  if (annotations == nullptr || !annotations->IsObject()) return facts;
  for (const auto& annotation : annotations->GetObject()) {
    if (annotation.value.IsString()) facts.annotations[annotation.name.GetString()] = annotation.value.GetString();
  }
  return facts;
}

// Compares only the name and the API version, because the object does not contain the name of its resource.
bool IsPolicy(const json::Value& item, const PolicyResource& policy) {
  return Text(item, {"apiVersion"}) == policy.group_version && Text(item, {"metadata", "name"}) == policy.name &&
         Find(item, {"spec"}) != nullptr;
}

void ReadItem(const json::Value& item, const std::optional<PolicyResource>& policy, Facts& facts) {
  const std::string kind = Text(item, {"kind"});
  if (kind == "DaemonSet") {
    facts.resource_versions[KeyOf(item)] = Text(item, {"metadata", "resourceVersion"});
  } else if (kind == "Deployment") {
    facts.deployments.push_back(ReadDeployment(item));
  } else if (kind == "Lease") {
    facts.leases.push_back(ReadLease(item));
  } else if (kind == "ResourceClaim") {
    facts.gpu_claims[KeyOf(item)] = examples::HoldsGpu(Compact(item), examples::AdminAccess::kIgnored).value_or(true);
  } else if (policy && IsPolicy(item, *policy)) {
    facts.policy = ReadPolicy(item, *policy);
  }
}

}  // namespace

std::string PolicyResource::ToString() const {
  const std::string group = group_version.substr(0, group_version.find('/'));
  return fmt::format("{}.{}/{}", resource, group, name);
}

absl::StatusOr<Facts> ReadFacts(std::string_view dump, std::string_view event_reason,
                                const std::optional<PolicyResource>& policy) {
  const absl::StatusOr<json::Document> document = driverupgrade::whatif::ParseDump(dump);
  if (!document.ok()) return document.status();
  Facts facts{driverupgrade::whatif::FactsOf(*document, event_reason)};
  for (const json::Value& item : Items(*document, {"items"})) ReadItem(item, policy, facts);
  return facts;
}

}  // namespace upgradectl
