// Counts how often this process has interrupted gangs. A gang counts as interrupted when a unit, or a node that started
// on its own, stops the first pod of the gang.
#ifndef DRIVERUPGRADE_SRC_OBSERVE_GANG_INTERRUPTIONS_H_
#define DRIVERUPGRADE_SRC_OBSERVE_GANG_INTERRUPTIONS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

// Not thread-safe.
class GangInterruptions {
 public:
  // Resets the counts if the rollout has a different revision. If `revision` is empty, the revision is unknown.
  void SetRevision(const std::string& revision);

  // Returns the name under which the node's interruptions are counted. `unit`: the unit with which the node started, or
  // empty if it started on its own.
  static std::string CauseOf(const std::string& node, const std::string& unit);
  bool has_causes() const { return !interrupted_by_.empty(); }
  // Forgets causes that are no longer in progress, so that a later unit with the same name counts as a new cause.
  void KeepCauses(const std::set<std::string>& in_progress);

  // Must be called when the requests of the node's plan start. `cause`: result of CauseOf.
  void Begin(const NodePlan& plan, const NodeView& view, const std::string& cause);
  // Counts the interruptions. Must be called when all requests since Begin have responses. `stopped`: UIDs of the pods
  // that the requests stopped. Returns the number of gangs that the cause has interrupted for the first time.
  int End(const std::string& node, const std::vector<std::string>& stopped);

  // Returns the counts for RolloutFacts.
  GangsInterrupted counts() const;

 private:
  struct Sent {
    std::string cause = {};
    std::map<std::string, std::vector<std::string>> gangs = {};  // gangs by UID of a pod
  };

  std::map<std::string, Sent> sent_;                             // by node
  std::map<std::string, std::set<std::string>> interrupted_by_;  // gangs by cause
  std::string revision_;
  std::map<std::string, int> gangs_;  // number of interruptions by gang
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_OBSERVE_GANG_INTERRUPTIONS_H_
