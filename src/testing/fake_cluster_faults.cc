#include "testing/fake_cluster_faults.h"

#include <string>
#include <utility>

namespace driverupgrade::testing::internal {

void FaultQueue::Add(Operation operation, Fault fault) {
  if (fault.times > 0) faults_[operation].push_back(std::move(fault));
}

std::optional<Fault> FaultQueue::Take(Operation operation) {
  auto found = faults_.find(operation);
  if (found == faults_.end() || found->second.empty()) return std::nullopt;
  Fault& front = found->second.front();
  if (--front.times > 0) return front;
  Fault last = std::move(front);
  found->second.pop_front();
  return last;
}

void FaultQueue::SetSupported(Operation operation, bool supported) {
  if (supported) {
    unsupported_.erase(operation);
  } else {
    unsupported_.insert(operation);
  }
}

absl::StatusOr<EvictionAnswer> ToEvictionAnswer(const absl::Status& status) {
  EvictionAnswer answer{.message = std::string(status.message())};
  if (absl::IsNotFound(status)) {
    answer.gone = true;
  } else if (absl::IsResourceExhausted(status)) {
    answer.refusal = Refusal::kThrottled;
  } else {
    return status;
  }
  return answer;
}

}  // namespace driverupgrade::testing::internal
