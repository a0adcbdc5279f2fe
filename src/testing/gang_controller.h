// Simulates, on a FakeCluster, jobs whose pods run only together.
//
// Defines GangController, which behaves like the controllers of training jobs. If one pod of a gang is lost, the
// controller deletes the gang's other pods, and creates all pods again once enough nodes are free. Like the scheduler,
// the controller avoids nodes with a PreferNoSchedule taint if there are enough other nodes.
//
//     GangController jobs(cluster, /*seed=*/1);
//     jobs.Add("train", {PodBuilder("team", "train-0").OnNode("n1").Build(), PodBuilder("team", "train-1").OnNode("n2").Build()});
//     engine->Reconcile({}, policy);
//     cluster->Advance(absl::Seconds(1));
//     jobs.Step();
//     jobs.interruptions("train");
//
// Call Step whenever the cluster may have changed. Pods that share a node move to the same new node. Not thread-safe.
#ifndef DRIVERUPGRADE_SRC_TESTING_GANG_CONTROLLER_H_
#define DRIVERUPGRADE_SRC_TESTING_GANG_CONTROLLER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/testing/fake_cluster.h"

namespace driverupgrade::testing {

class GangController {
 public:
  // `cluster` must not be null. The same seed leads to the same choices of nodes.
  GangController(std::shared_ptr<FakeCluster> cluster, std::uint32_t seed);

  // Adds the pods to the cluster. The pods' nodes must exist. A Job replaces the pods' controllers, so that no other
  // controller creates the pods again. `behavior` also applies to replacement pods. `claims` are the claims that these
  // pods name in Pod::resource_claims; the controller adds the claims to the cluster. A claim with a `pod_uid` is added
  // again for each replacement, as if it were created from a template.
  void Add(const std::string& gang, std::vector<Pod> pods, const PodBehavior& behavior = {},
           const std::vector<ResourceClaimSpec>& claims = {});
  // Interrupts gangs that have lost a pod, and starts gangs for which there are enough nodes. These nodes must be
  // schedulable and ready, have no pod of another gang, and have the devices that the pods claim. Gangs start in the
  // order in which they were interrupted.
  void Step();

  // Returns how many times the gang has lost a pod while it was running; 0 for an unknown name.
  int interruptions(const std::string& gang) const;
  // Returns the total number of gang interruptions.
  int interruptions() const;
  // Returns the highest number of interruptions of a single gang.
  int interruptions_peak() const;
  // Returns the nodes on which the gang runs; empty if the gang waits for nodes or is unknown.
  std::set<std::string> NodesOf(const std::string& gang) const;
  std::size_t size() const { return gangs_.size(); }
  bool AllRun() const;

 private:
  struct Gang {
    std::vector<Pod> pods = {};  // the running pods, or the pods that ran last
    std::map<std::pair<std::string, std::string>, ResourceClaimSpec> claims = {};  // by namespace and name
    PodBehavior behavior = {};
    bool runs = false;
    int interruptions = 0;
    int attempt = 0;
  };

  bool IsWhole(const Gang& gang) const;
  // Adds the gang's claims that belong to `pod`. If the pod has claims but no UID, sets its UID.
  void AddClaims(const Gang& gang, Pod& pod);
  // Assigns a node from `free` to each entry of `nodes`. Returns false if there are not enough devices.
  bool Choose(const Gang& gang, std::vector<std::string> free, std::map<std::string, std::string>& nodes) const;
  void Interrupt(const std::string& name, Gang& gang);
  void Start(Gang& gang);
  // Returns the free nodes, and adds the free nodes with a PreferNoSchedule taint to `avoided`.
  std::vector<std::string> FreeNodes(std::set<std::string>& avoided) const;

  std::shared_ptr<FakeCluster> cluster_;
  std::mt19937 random_;
  std::map<std::string, Gang> gangs_;
  std::vector<std::string> waiting_;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_SRC_TESTING_GANG_CONTROLLER_H_
