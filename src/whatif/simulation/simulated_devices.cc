#include "whatif/simulation/simulated_devices.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "model/node_marks.h"

namespace driverupgrade::whatif {
namespace {

// Maximum number of devices that is accepted from the annotation, which is more than any node has.
constexpr int kDevicesMax = 10'000;

bool Contains(const std::vector<std::string>& drivers, const std::string& driver) {
  return std::find(drivers.begin(), drivers.end(), driver) != drivers.end();
}

// Adds a slice to the slice that represents the whole pool, and ignores slices of earlier generations.
void Merge(const ResourceSlice& slice, ResourceSlice& pool) {
  if (slice.pool_generation < pool.pool_generation) return;
  if (slice.pool_generation > pool.pool_generation) pool.devices.clear();
  pool.node_name = slice.node_name;
  pool.driver = slice.driver;
  pool.pool_generation = slice.pool_generation;
  for (const PublishedDevice& device : slice.devices) {
    // Keeps only the name, because all devices of a node change to the version of the new driver, which is not known.
    pool.devices.push_back({.name = device.name});
  }
}

}  // namespace

SimulatedDevices::SimulatedDevices(const Situation& situation, const std::vector<std::string>& drivers,
                                   bool engine_follows)
    : situation_(situation), drivers_(drivers), engine_follows_(engine_follows) {
  Pools pools;
  std::set<std::string> unfit;
  std::vector<const ResourceSlice*> slices;
  for (const ResourceSlice& slice : situation.question.cluster.resource_slices) {
    if (!slice.node_name.empty() && Contains(drivers, slice.driver)) slices.push_back(&slice);
  }
  std::sort(slices.begin(), slices.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const ResourceSlice* slice : slices) {
    publishing_.insert(slice->driver);
    Merge(*slice, pools[{slice->node_name, slice->driver}]);
    // Leaves out nodes that have an unreadable slice, or a pool with a name other than the node's: the engine never
    // taints the devices of such a pool, and a simulated pool always has the node's name.
    if (!slice->unreadable.empty() || slice->pool != slice->node_name) unfit.insert(slice->node_name);
  }
  AddIsolated(pools);
  for (auto& [key, pool] : pools) {
    if (!unfit.contains(key.first)) slices_[key.first].push_back(std::move(pool));
  }
  for (const ResourceClaim& claim : situation.question.cluster.resource_claims) {
    if (claim.unreadable.empty()) claims_[{claim.ns, claim.name}] = &claim;
  }
}

void SimulatedDevices::AddIsolated(Pools& pools) const {
  const auto driver =
      std::find_if(drivers_.begin(), drivers_.end(), [&](const std::string& one) { return publishing_.contains(one); });
  if (driver == drivers_.end()) return;
  for (const Node& node : situation_.question.cluster.nodes) {
    const auto pool = pools.lower_bound({node.name, ""});
    if (pool != pools.end() && pool->first.first == node.name) continue;
    const internal::NodeMarks marks = internal::DecodeMarks(node, situation_.question.identity, /*driver_runs=*/false);
    const int count = std::min(marks.isolated_devices.value().value_or(0), kDevicesMax);
    ResourceSlice slice{.node_name = node.name, .driver = *driver};
    for (int i = 0; i < count; ++i) slice.devices.push_back({.name = fmt::format("device-{}", i)});
    if (!slice.devices.empty()) pools[{node.name, *driver}] = std::move(slice);
  }
}

void SimulatedDevices::Publish(const std::string& node, testing::FakeCluster& cluster) const {
  const auto slices = slices_.find(node);
  if (slices == slices_.end()) return;
  for (const ResourceSlice& slice : slices->second) cluster.PublishDevices(slice);
}

void SimulatedDevices::Withdraw(const std::string& node, testing::FakeCluster& cluster) const {
  const auto slices = slices_.find(node);
  if (slices == slices_.end()) return;
  for (const ResourceSlice& slice : slices->second) cluster.WithdrawDevices(slice.driver, node);
}

testing::DeviceRequest SimulatedDevices::RequestOf(const ResourceClaim& claim, const std::string& driver,
                                                   const std::string& node) const {
  if (!publishing_.contains(driver)) return {.driver = driver, .count = 0};
  const auto counts = situation_.facts.claimed_devices.find(claim.ns + "/" + claim.name);
  if (counts == situation_.facts.claimed_devices.end()) return {.driver = driver, .admin_access = true};
  const auto count = counts->second.find({driver, node});
  if (count == counts->second.end()) return {.driver = driver, .admin_access = true};
  return {.driver = driver, .count = count->second};
}

std::vector<testing::ResourceClaimSpec> SimulatedDevices::ClaimsOf(const Pod& pod) const {
  std::vector<testing::ResourceClaimSpec> specs;
  for (const std::string& name : pod.resource_claims) {
    const auto found = claims_.find({pod.ref.ns, name});
    if (found == claims_.end()) continue;
    const ResourceClaim& claim = *found->second;
    const auto driver = std::find_if(drivers_.begin(), drivers_.end(), [&](const std::string& one) {
      return std::any_of(claim.allocated.begin(), claim.allocated.end(), [&](const AllocatedPool& allocated) {
        return allocated.driver == one && allocated.pool == pod.node_name;
      });
    });
    if (driver == drivers_.end()) continue;
    specs.push_back({.ns = claim.ns,
                     .name = claim.name,
                     .request = RequestOf(claim, *driver, pod.node_name),
                     .pod_uid = claim.pod_uid});
  }
  return specs;
}

void SimulatedDevices::DropUnknownClaims(Pod& pod) const {
  if (!engine_follows_) return;
  std::set<std::string> known;
  for (const testing::ResourceClaimSpec& claim : ClaimsOf(pod)) known.insert(claim.name);
  std::erase_if(pod.resource_claims, [&](const std::string& name) { return !known.contains(name); });
}

}  // namespace driverupgrade::whatif
