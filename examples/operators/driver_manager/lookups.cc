#include "driver_manager/lookups.h"

#include <utility>

#include "support/gpu_claims.h"
#include "support/json.h"

namespace driver_manager {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::CallContext;
using driverupgrade::ObjectClient;
using driverupgrade::ObjectKind;

const ObjectKind kDaemonSets{.group_version = "apps/v1", .resource = "daemonsets"};

absl::StatusOr<bool> IsGpuClaim(const ObjectClient& objects, const CallContext& context, const std::string& ns,
                                const std::string& name) {
  const absl::StatusOr<ApiObject> claim = examples::ReadClaim(context, objects, {.ns = ns, .name = name});
  if (absl::IsNotFound(claim.status())) return false;
  if (!claim.ok()) return claim.status();
  return examples::HoldsGpu(claim->json, examples::AdminAccess::kCounts);
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
