#include "cluster/check_supports.h"

#include "fmt/format.h"

namespace driverupgrade::internal {

absl::Status CheckSupports(const ClusterFacade& cluster, const std::vector<Operation>& operations) {
  for (const Operation operation : operations) {
    if (cluster.Supports(operation)) continue;
    const char* remedy =
        operation == Operation::kRecordEvent ? ": implement RecordEvent, or set executor.events = false" : "";
    return absl::UnimplementedError(
        fmt::format("the cluster facade does not implement {}{}", ToString(operation), remedy));
  }
  return absl::OkStatus();
}

}  // namespace driverupgrade::internal
