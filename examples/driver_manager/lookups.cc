#include "driver_manager/lookups.h"

#include <algorithm>
#include <utility>

#include "support/json.h"

namespace driver_manager {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::CallContext;
using driverupgrade::ObjectClient;
using driverupgrade::ObjectKind;

// The newest first. They agree in what is read here.
constexpr const char* kClaimVersions[] = {"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"};
const ObjectKind kDaemonSets{.group_version = "apps/v1", .resource = "daemonsets"};

// NotFound stands for a claim that is gone as well as for a version that the server does not have.
absl::StatusOr<ApiObject> GetClaim(const ObjectClient& objects, const CallContext& context, const std::string& ns,
                                   const std::string& name) {
  absl::StatusOr<ApiObject> claim = absl::NotFoundError("");
  for (const char* version : kClaimVersions) {
    const ObjectKind kind{.group_version = version, .resource = "resourceclaims"};
    claim = objects.Get(context, kind, {.ns = ns, .name = name});
    if (!absl::IsNotFound(claim.status())) break;
  }
  return claim;
}

absl::StatusOr<bool> IsGpuClaim(const ObjectClient& objects, const CallContext& context, const std::string& ns,
                                const std::string& name) {
  const absl::StatusOr<ApiObject> object = GetClaim(objects, context, ns, name);
  if (absl::IsNotFound(object.status())) return false;
  if (!object.ok()) return object.status();
  const absl::StatusOr<rapidjson::Document> claim = examples::ParseJson(object->json);
  if (!claim.ok()) return claim.status();
  const auto results = examples::Items(*claim, {"status", "allocation", "devices", "results"});
  return std::any_of(results.begin(), results.end(), [](const rapidjson::Value& result) {
    return examples::Text(result, {"driver"}) == "gpu.nvidia.com";
  });
}

absl::StatusOr<std::set<std::string>> DaemonSetsSelecting(const ObjectClient& objects, const CallContext& context,
                                                          const std::string& key) {
  const absl::StatusOr<std::vector<ApiObject>> list = objects.List(context, kDaemonSets);
  if (!list.ok()) return list.status();
  std::set<std::string> uids;
  for (const ApiObject& object : *list) {
    const absl::StatusOr<rapidjson::Document> daemon_set = examples::ParseJson(object.json);
    if (!daemon_set.ok()) return daemon_set.status();
    if (examples::TextMap(*daemon_set, {"spec", "template", "spec", "nodeSelector"}).contains(key)) {
      uids.insert(object.uid);
    }
  }
  return uids;
}

}  // namespace

Lookups MakeLookups(std::shared_ptr<const ObjectClient> objects) {
  return {.is_gpu_claim = [objects](const CallContext& context, const std::string& ns,
                                    const std::string& name) { return IsGpuClaim(*objects, context, ns, name); },
          .daemon_sets_selecting = [objects](
                                       const CallContext& context,
                                       const std::string& key) { return DaemonSetsSelecting(*objects, context, key); }};
}

}  // namespace driver_manager
