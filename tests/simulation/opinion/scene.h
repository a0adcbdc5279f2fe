// What decides what a node is to do next. Written anew from docs/state-machine.md, and by nothing of the library that
// decides, so that a mistake there is no mistake here.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_OPINION_SCENE_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_OPINION_SCENE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_policy.h"
#include "testing/invariants/node_truth.h"

namespace driverupgrade::testing::internal {

// How the operator was configured.
struct OperatorFacts {
  Keys keys;
  std::string upgrade_requested = {};
  std::string pod_completion_start = {};
  std::string validation_start = {};
  std::string failures = {};
  std::string failed_revision = {};
  std::string ns = {};
  LabelSelector driver_labels = {};
  std::optional<LabelSelector> validation = std::nullopt;
  // It has a filter by which pods with the label `uses` use the driver.
  bool filters = false;
  // Where revisions are of one image (ImageOf), a restart is enough.
  bool compares_images = false;
  // It asks the maintenance operator for the nodes, by that name.
  std::string requestor = {};
  std::string maintenance_ns = {};
  std::optional<PodRef> own_pod = std::nullopt;
};
OperatorFacts FactsOf(const DriverIdentity& identity);

// By the UID of a DaemonSet of the driver: the revision that its pods are to have; empty: it cannot be told.
using WantedRevisions = std::map<std::string, std::string>;
WantedRevisions WantedIn(const FakeCluster& cluster, const OperatorFacts& facts);

bool Selects(const LabelSelector& selector, const StringMap& labels);
bool IsReadyPod(const Pod& pod);

// Of one node.
struct DriverSeen {
  bool none = true;
  bool unknown = false;
  bool old = false;
  bool orphaned = false;
  bool terminating = false;
  bool all_ready = true;
  const Pod* failing = nullptr;
  std::vector<const Pod*> to_restart = {};
  std::string wanted = {};
  // Each is as it should be, but may not be ready.
  bool InSync() const { return !none && !unknown && !terminating && to_restart.empty(); }
};

// Pods that are to go from a node.
struct PodsToGo {
  std::vector<const Pod*> go = {};
  // May not be evicted.
  std::vector<const Pod*> blocked = {};
};

enum class Evacuation : std::uint8_t { kDone, kPods, kBlocked, kUnread };

struct Scene {
  Scene(const OperatorFacts& the_facts, const FakeCluster& cluster, Node the_node, const WantedRevisions& the_wanted,
        const UpgradePolicy& the_policy, absl::Time the_now);

  const OperatorFacts& facts;
  const WantedRevisions& wanted;
  const UpgradePolicy& policy;
  // By the engine's clock.
  const absl::Time now;
  const Node node;
  std::vector<Pod> driver_pods = {};
  // The others on the node.
  std::vector<Pod> pods = {};
  std::vector<NodeMaintenance> maintenances = {};

  // `restart_pod`: the UID of one that is to be restarted in any case, or empty.
  DriverSeen Driver(const std::string& restart_pod) const;
  // Pod deletion as it applies; nullopt: it is off.
  std::optional<PodDeletionPolicy> Deletion() const;
  PodsToGo ToDelete(const PodDeletionPolicy& deletion) const;
  PodsToGo ToDrain() const;
  // What has to be gone before the driver is touched.
  PodsToGo ToEvacuate(bool requestor_mode) const;
  // `late`: how long ago one that is lost has to have been lost.
  bool AnyLeft(const std::vector<const Pod*>& to_go, absl::Duration late = absl::ZeroDuration()) const;
  bool MayBeStuck(const std::vector<const Pod*>& to_go) const;
  // Whether pods have to go at all, by the policy.
  bool Evacuates() const { return policy.drain || Deletion(); }
  Evacuation Evacuated(bool requestor_mode) const;
  absl::Duration EvacuationTimeout() const;
  bool AnyAwaited() const;
  bool IsValidated() const;
  // Whether the node's cordon was made by nobody's upgrade.
  bool IsAdministrators() const;
  // Ours is there, or one that we joined, for this very node, and Ready.
  bool IsMaintained() const;
  bool Claims(const NodeMaintenance& object) const;
  bool AnyClaim() const;

 private:
  void Sort(const Pod& pod, bool force, bool delete_empty_dir, PodsToGo& pods) const;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_OPINION_SCENE_H_
