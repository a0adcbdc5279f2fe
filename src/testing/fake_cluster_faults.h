// Decides which future calls fail, and how.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_FAULTS_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_FAULTS_H_

#include <deque>
#include <map>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_facade.h"

namespace driverupgrade::testing::internal {

struct Fault {
  absl::Status status = {};
  /// Result to return instead of the status, for kEvictPod.
  std::optional<EvictionAnswer> eviction = {};
  /// True if the call is applied although it returns the fault's status.
  bool after_applying = false;
  int times = 1;
};

/// Not thread-safe.
class FaultQueue {
 public:
  void Add(Operation operation, Fault fault);
  /// Returns the fault for the operation's next call, and decrements the fault's `times`.
  std::optional<Fault> Take(Operation operation);
  void SetSupported(Operation operation, bool supported);
  bool Supports(Operation operation) const { return unsupported_.count(operation) == 0; }

 private:
  std::map<Operation, std::deque<Fault>> faults_;
  std::set<Operation> unsupported_;
};

/// Converts a status to an eviction result as the facade contract requires: 404 and 429 become results, and any other
/// status remains an error.
absl::StatusOr<EvictionAnswer> ToEvictionAnswer(const absl::Status& status);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_FAULTS_H_
