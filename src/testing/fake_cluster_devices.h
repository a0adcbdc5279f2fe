// Dynamic Resource Allocation in the model behind FakeCluster: the API server, the scheduler, the controllers for
// claims and device taints, and the plugins. A Devices object is copied together with its Model, and therefore keeps no
// reference to it: every call that changes an object takes the Model as an argument.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_DEVICES_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_DEVICES_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/testing/fake_cluster_specs.h"
#include "testing/fake_cluster_records.h"

namespace driverupgrade::testing::internal {

class Model;

class Devices {
 public:
  explicit Devices(const DeviceOptions& options) : options_(options) {}

  // API server.

  // Returns NotFound if the cluster does not serve the kind. T is DeviceTaintRule, ResourceClaim or ResourceSlice.
  template <class T>
  absl::Status Served() const;
  template <class T>
  std::vector<T> List() const;
  absl::StatusOr<DeviceTaintRule> Create(Model& model, DeviceTaintRule rule);
  absl::StatusOr<DeviceTaintRule> Patch(Model& model, const PatchDeviceTaintRuleParams& params);
  absl::Status Delete(Model& model, const DeleteDeviceTaintRuleParams& params);
  bool RemoveRule(Model& model, Actor actor, const std::string& name);
  ResourceClaim AddClaim(Model& model, ResourceClaimSpec spec);

  // Plugins.

  ResourceSlice Publish(Model& model, ResourceSlice slice);
  bool Withdraw(Model& model, const std::string& driver, const std::string& node_name);

  // Scheduler.

  // Returns true if each of the pod's claims is allocated on the node or can be allocated there.
  bool Fits(const Model& model, const Pod& pod, const std::string& node_name) const;
  // Returns true if all requested devices can be allocated on the node.
  bool CanAllocate(const std::vector<DeviceRequest>& requests, const std::string& node_name, absl::Time now) const;
  // Returns the nodes to check for the pod: a subset of `open` that contains every node on which the pod fits.
  const std::set<std::string>& Candidates(const Pod& pod, const std::set<std::string>& open) const;
  // Returns the pod's device requests as text; empty if a claim does not exist or is allocated.
  std::string RequestsOf(const Pod& pod) const;
  // Allocates the claims that are not allocated yet, and reserves all claims for the pod.
  void Reserve(Model& model, const Pod& pod, const std::string& node_name);

  // Controllers.

  // A pod's claims, from which the claims of replacement pods are derived.
  struct PodClaims {
    std::vector<DeviceRequest> own = {};   // requests of the claims that the pod owns, as if created from templates
    std::vector<std::string> shared = {};  // names of other claims
  };
  PodClaims ClaimsOf(const Pod& pod) const;
  // Releases the claims of a pod that has finished or no longer exists, and deletes the claims that the pod owns.
  void PodIsOver(Model& model, const Pod& pod);
  // Removes the rules and slices that the node owns.
  void NodeIsGone(Model& model, const Node& node);
  // Lets the device-taint-eviction controller process a rule.
  void StepRule(Model& model, const Effect& effect);

 private:
  struct RuleRecord {
    DeviceTaintRule rule = {};
    absl::Time since = absl::InfiniteFuture();  // time at which the rule started to taint devices
  };
  struct ClaimRecord {
    ResourceClaim claim = {};
    DeviceRequest request = {};
  };
  using Pool = std::pair<std::string, std::string>;  // driver and node

  void Put(Model& model, Actor actor, RuleRecord& record, DeviceTaintRule rule);
  void Put(Model& model, ClaimRecord& record, ResourceClaim claim);
  void Erase(Model& model, const Key& claim);
  void EraseSlice(Model& model, const Pool& pool);
  bool IsTainted(const Pool& pool, absl::Time now) const;
  // Returns the number of devices in the pool that are not exclusively allocated to a claim.
  int Free(const Pool& pool) const;
  // Adds the claim's devices to the devices in use, or subtracts them if `sign` is -1.
  void Count(const ClaimRecord& record, int sign);
  void UpdateFree(const Pool& pool);

  DeviceOptions options_;
  std::map<std::string, RuleRecord> rules_;
  std::set<std::tuple<std::string, std::string, std::string>> rules_by_pool_;  // driver, pool and name of each rule
  std::map<Key, ClaimRecord> claims_;
  std::map<Pool, ResourceSlice> slices_;
  std::map<Pool, std::int64_t> generations_;           // last generation of each pool, including withdrawn pools
  std::map<Pool, int> used_;                           // number of devices that are exclusively allocated to claims
  std::map<std::string, std::set<std::string>> free_;  // nodes with free devices, by driver
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_DEVICES_H_
