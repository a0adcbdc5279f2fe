#include "decide/devices/claims.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "decide/devices/rules.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A pattern can end with `*`, which matches any suffix.
bool MatchesPattern(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool IsHeldOnNode(const NodeView& view, const ResourceClaim& claim, const std::vector<std::string>& device_drivers) {
  return std::any_of(device_drivers.begin(), device_drivers.end(),
                     [&](const std::string& device_driver) { return IsHeld(claim, device_driver, view.node.name); });
}

bool IsLate(const NodeView& view, const ResourceClaim& claim, const DriverIdentity& identity) {
  return std::any_of(view.devices->rules.begin(), view.devices->rules.end(), [&](const DeviceTaintRule& rule) {
    return IsOurs(rule, identity) && rule.effect == DeviceTaintEffect::kNoSchedule && rule.time_added &&
           IsHeld(claim, rule.driver, rule.pool) && claim.allocation_time >= rule.time_added;
  });
}

// A shared claim can pass from one pod to the next without another allocation, and the scheduler checks taints only
// when it allocates a claim.
bool IsShared(const ResourceClaim& claim) {
  return claim.pod_uid.empty() || claim.reserved_for.size() > 1 ||
         std::any_of(claim.reserved_for.begin(), claim.reserved_for.end(),
                     [](const ClaimConsumer& consumer) { return consumer.resource != "pods"; });
}

// The slices of the highest generation of a pool. Slices of older generations are ignored.
struct PublishedPool {
  std::int64_t generation = 0;
  std::int64_t slices_wanted = 0;
  std::vector<const ResourceSlice*> slices = {};
};
std::map<std::string, PublishedPool> PublishedPoolsOf(const NodeView& view, const IsolationPolicy& policy) {
  std::map<std::string, PublishedPool> pools;
  for (const ResourceSlice& slice : view.devices->slices) {
    if (!Contains(policy.device_drivers, slice.driver)) continue;
    PublishedPool& pool = pools[slice.driver];
    if (slice.pool_generation < pool.generation) continue;
    if (slice.pool_generation > pool.generation) pool = PublishedPool{.generation = slice.pool_generation};
    pool.slices_wanted = slice.pool_slices;
    pool.slices.push_back(&slice);
  }
  return pools;
}

std::string WhyNotReadable(const NodeDevices& devices) {
  const auto of = [](const auto& objects) {
    const auto found =
        std::find_if(objects.begin(), objects.end(), [](const auto& object) { return !object.unreadable.empty(); });
    return found == objects.end() ? std::string()
                                  : fmt::format("{} cannot be read: {}", found->name, found->unreadable);
  };
  if (std::string why = of(devices.rules); !why.empty()) return why;
  if (std::string why = of(devices.claims); !why.empty()) return why;
  return of(devices.slices);
}

}  // namespace

bool IsHeld(const ResourceClaim& claim, std::string_view device_driver, std::string_view pool) {
  return !claim.reserved_for.empty() &&
         std::any_of(claim.allocated.begin(), claim.allocated.end(), [&](const AllocatedPool& allocated) {
           return allocated.driver == device_driver && allocated.pool == pool;
         });
}

bool HasAdminAccess(const ResourceClaim& claim, std::string_view device_driver, std::string_view pool) {
  return std::none_of(claim.allocated.begin(), claim.allocated.end(), [&](const AllocatedPool& allocated) {
    return allocated.driver == device_driver && allocated.pool == pool && !allocated.admin_access;
  });
}

std::set<std::string> HolderUids(const NodeView& view, const std::vector<std::string>& device_drivers) {
  std::set<std::string> uids;
  if (!view.devices) return uids;
  for (const ResourceClaim& claim : view.devices->claims) {
    if (!IsHeldOnNode(view, claim, device_drivers)) continue;
    for (const ClaimConsumer& consumer : claim.reserved_for) uids.insert(consumer.uid);
  }
  return uids;
}

std::set<std::string> LateHolderUids(const NodeView& view, const DriverIdentity& identity,
                                     const std::vector<std::string>& device_drivers) {
  std::set<std::string> uids;
  for (const ResourceClaim& claim : view.devices->claims) {
    if (!IsHeldOnNode(view, claim, device_drivers) || !IsLate(view, claim, identity)) continue;
    for (const ClaimConsumer& consumer : claim.reserved_for) uids.insert(consumer.uid);
  }
  return uids;
}

std::vector<UnboundHolder> UnboundHolders(const NodeView& view, const DriverIdentity& identity,
                                          const IsolationPolicy& policy) {
  std::set<std::string> bound;
  for (const Pod& pod : *view.pods) bound.insert(pod.ref.uid);
  std::vector<UnboundHolder> holders;
  for (const ResourceClaim& claim : view.devices->claims) {
    if (!IsHeldOnNode(view, claim, policy.device_drivers)) continue;
    for (const ClaimConsumer& consumer : claim.reserved_for) {
      if (consumer.resource != "pods" || !bound.insert(consumer.uid).second) continue;
      holders.push_back(
          {.pod = {.ns = claim.ns, .name = consumer.name, .uid = consumer.uid}, .late = IsLate(view, claim, identity)});
    }
  }
  return holders;
}

std::string WhyNotDevices(const NodeView& view, const IsolationPolicy& policy) {
  if (!view.devices) {
    return view.devices_status.ok() ? "the operator does not watch devices" : std::string(Message(view.devices_status));
  }
  if (!view.devices->has_rules) return "the cluster has no DeviceTaintRules";
  if (std::string why = WhyNotReadable(*view.devices); !why.empty()) return why;
  for (const std::string& resource : view.node.extended_resources) {
    const auto& patterns = policy.plugin_resources;
    if (std::any_of(patterns.begin(), patterns.end(),
                    [&](const auto& pattern) { return MatchesPattern(pattern, resource); })) {
      return fmt::format("a device plugin offers {} on the node", resource);
    }
  }
  if (DeviceCount(view, policy) == 0) return "no devices are published for the node";
  for (const ResourceSlice& slice : view.devices->slices) {
    if (Contains(policy.device_drivers, slice.driver) && slice.pool != view.node.name) {
      return fmt::format("devices of {} are in pool {}, which does not have the name of the node", slice.driver,
                         slice.pool);
    }
  }
  for (const ResourceClaim& claim : view.devices->claims) {
    if (!IsHeldOnNode(view, claim, policy.device_drivers) || !IsShared(claim)) continue;
    return fmt::format("claim {}/{} can be shared by several pods", claim.ns, claim.name);
  }
  if (!view.pods) return "";
  const std::set<std::string> holders = HolderUids(view, policy.device_drivers);
  for (const Pod& pod : *view.pods) {
    const std::string_view scheduler =
        pod.scheduler_name.empty() ? std::string_view("default-scheduler") : std::string_view(pod.scheduler_name);
    if (!holders.contains(pod.ref.uid) || Contains(policy.scheduler_names, scheduler)) continue;
    return fmt::format("pod {} is scheduled by {}", pod.ref.ToString(), scheduler);
  }
  return "";
}

int DeviceCount(const NodeView& view, const IsolationPolicy& policy) {
  int count = 0;
  for (const auto& [driver, pool] : PublishedPoolsOf(view, policy)) {
    for (const ResourceSlice* slice : pool.slices) count += static_cast<int>(slice->devices.size());
  }
  return count;
}

std::string WhyNotPublished(const NodeView& view, const IsolationPolicy& policy, int before) {
  if (!view.devices) return "the devices of the node are unknown";
  std::map<std::string, std::string> versions;  // first version found, by DRA driver
  for (const auto& [driver, pool] : PublishedPoolsOf(view, policy)) {
    if (static_cast<std::int64_t>(pool.slices.size()) < pool.slices_wanted) {
      return fmt::format("{} of {} slices of {} are published", pool.slices.size(), pool.slices_wanted, driver);
    }
    for (const ResourceSlice* slice : pool.slices) {
      for (const PublishedDevice& device : slice->devices) {
        if (device.driver_version.empty()) continue;
        const auto [first, is_first] = versions.emplace(driver, device.driver_version);
        if (!is_first && first->second != device.driver_version) {
          return fmt::format("devices of {} have different driver versions: {} and {}", driver, first->second,
                             device.driver_version);
        }
      }
    }
  }
  const int count = DeviceCount(view, policy);
  return count < before ? fmt::format("{} of {} devices are published", count, before) : "";
}

}  // namespace driverupgrade::internal
