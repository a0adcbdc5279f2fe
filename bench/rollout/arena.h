// A cluster in which one rollout after the other is measured, each from the same start.
#ifndef DRIVERUPGRADE_BENCH_ROLLOUT_ARENA_H_
#define DRIVERUPGRADE_BENCH_ROLLOUT_ARENA_H_

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "absl/time/time.h"
#include "controlplane/audit_log.h"
#include "controlplane/control_plane.h"
#include "controlplane/process.h"
#include "controlplane/world.h"
#include "rollout/program.h"

namespace driverupgrade::bench {

struct Run {
  // From the start of the program to the answer to the PATCH after which the last node was done.
  double seconds = 0;
  // From the start of the program until the API server received its first PATCH of a node.
  double first_patch_seconds = 0;
  // By verb, resource and, unless it was carried out, answer: "patch nodes", "patch nodes 409".
  std::map<std::string, int> requests;
  e2e::Usage usage;
};

// A program that did not do its work in the time that it had. The cluster is then in the midst of a rollout.
class NotDone : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Nodes with a driver and one workload pod each, in a control plane of their own. Every wait is bounded and throws
// std::runtime_error.
class Arena {
 public:
  explicit Arena(int nodes);

  // Gives the driver a new revision and every node its workload pod, lets `program` roll the driver, and checks that it
  // did: throws NotDone if not.
  Run Measure(const Program& program);

 private:
  int nodes() const { return static_cast<int>(world_.nodes().size()); }
  std::chrono::seconds SettleLimit() const;
  void SpreadWorkload() const;
  void ChangeDriver();
  e2e::Usage RunToEnd(const Program& program);
  void ExpectRolledOut() const;
  // When the last node was done, or nothing if some node is not.
  std::optional<absl::Time> FindEnd(e2e::AuditLog& audit) const;

  e2e::ControlPlane control_plane_;
  e2e::World world_;
  int revision_ = 1;
};

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_ROLLOUT_ARENA_H_
