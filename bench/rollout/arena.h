// A cluster in which rollouts are measured in sequence, each from the same initial state.
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
  // Time from the start of the program to the response to the PATCH after which the last node was done.
  double seconds = 0;
  // Time from the start of the program until the API server received the program's first PATCH of a node.
  double first_patch_seconds = 0;
  // Number of requests by verb, resource and, if they were refused, status code: "patch nodes", "patch nodes 409".
  std::map<std::string, int> requests;
  e2e::Usage usage;
};

// Thrown if a program fails or exceeds its timeout, which leaves the cluster in the middle of a rollout.
class NotDone : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Nodes with a driver and one workload pod each, in a separate control plane. Every wait is bounded, and throws
// std::runtime_error when its time is up.
class Arena {
 public:
  explicit Arena(int nodes);

  // Creates a new revision of the driver, restores the workload pod of each node, runs `program`, and checks that the
  // program upgraded the driver. Throws NotDone if the program did not finish.
  Run Measure(const Program& program);

 private:
  int nodes() const { return static_cast<int>(world_.nodes().size()); }
  std::chrono::seconds SettleLimit() const;
  void SpreadWorkload() const;
  void ChangeDriver();
  e2e::Usage RunToEnd(const Program& program);
  void ExpectRolledOut() const;
  // Returns the time at which the last node was done; nullopt if some node is not done.
  std::optional<absl::Time> FindEnd(e2e::AuditLog& audit) const;

  e2e::ControlPlane control_plane_;
  e2e::World world_;
  int revision_ = 1;
};

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_ROLLOUT_ARENA_H_
