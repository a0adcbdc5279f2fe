// Which of the coming calls go wrong, and how.
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
  /// Instead of the status, for kEvictPod.
  std::optional<EvictionAnswer> eviction = {};
  /// Whether the call is applied all the same.
  bool after_applying = false;
  int times = 1;
};

/// Not thread-safe.
class FaultQueue {
 public:
  void Add(Operation operation, Fault fault);
  /// The fault of the next call of that operation; each Take uses up one time of it.
  std::optional<Fault> Take(Operation operation);
  void SetSupported(Operation operation, bool supported);
  bool Supports(Operation operation) const { return unsupported_.count(operation) == 0; }

 private:
  std::map<Operation, std::deque<Fault>> faults_;
  std::set<Operation> unsupported_;
};

/// How the contract of the facade has the answer to an eviction: 404 and 429 are answers, anything else is an
/// error.
absl::StatusOr<EvictionAnswer> ToEvictionAnswer(const absl::Status& status);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_FAULTS_H_
