// How soon a process asks again for what it did not get (I13), by its own clock.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_PATIENCE_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_PATIENCE_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_writes.h"

namespace driverupgrade::testing::internal {

// The checks return a message about the violation, or an empty text.
class Patience {
 public:
  // Judges a request, other than for a Lease, that the server did not serve. After the first minutes of an outage the pauses
  // between requests must have grown. `things`: number of things that are requested separately, such as the pods of a node.
  // Pauses grow for each `operation` on its own: a watch that was not polled has not noticed the outage yet.
  std::string Unserved(absl::Time now, int things = 1, Operation operation = Operation::kListNodes);
  void Served() {
    away_since_ = absl::InfiniteFuture();
    first_asked_.clear();
  }

  // A pod is asked to go not before the server wants to hear of it again, unless a deletion has been tried by then,
  // after which there is another pause, or an upgrade begins anew.
  std::string Evicting(const EvictPodParams& params, absl::Time now) const;
  void Evicted(const std::string& node, const EvictPodParams& params, const EvictionAnswer& answer, absl::Time now);
  void Deleted(const DeletePodParams& params) { refused_.erase(params.pod.uid); }
  void UpgradeBegins(const std::string& node);
  // A list was older than one before. Whoever sees that takes the cluster for set back, and asks anew.
  void ClusterSetBack();

  // The ledger of grants, once a request for it has failed.
  std::string AskingLedger(absl::Time now);
  void LedgerFailed(absl::Time now) { ledger_failed_ = now; }

  // What is refused as of a version is not asked again at once as of the same one.
  std::string Patching(const PatchNodeParams& params, absl::Time now) const;
  // The driver has left the node, and with it the operator: what was tried there is forgotten.
  void NodeLeft(const std::string& node_uid) { conflicts_.erase(node_uid); }
  void MetConflict(const PatchNodeParams& params, absl::Time now);

 private:
  struct Conflict {
    std::string resource_version;
    absl::Time time;
  };
  absl::Time away_since_ = absl::InfiniteFuture();
  absl::Time last_asked_ = absl::InfinitePast();
  absl::Time minute_began_ = absl::InfinitePast();
  int asked_ = 0;
  std::map<Operation, absl::Time> first_asked_;  // since the server has been away
  struct Refused {
    std::string node;
    absl::Time not_before;
  };
  std::map<std::string, Refused> refused_;     // by UID of the pod
  std::map<std::string, Conflict> conflicts_;  // by UID of the node
  absl::Time ledger_failed_ = absl::InfinitePast();
  // The ledger may be asked for once more: by a pass that learns of it in the midst.
  bool starts_over_ = false;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_PATIENCE_H_
