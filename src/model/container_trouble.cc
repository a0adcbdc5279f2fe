#include "model/container_trouble.h"

#include "fmt/format.h"

namespace driverupgrade::internal {

std::string StartError(const Pod& pod) {
  for (const auto* statuses : {&pod.init_container_statuses, &pod.container_statuses}) {
    for (const ContainerStatus& status : *statuses) {
      if (status.start_error.empty()) continue;
      // The message omits the reason for a failed image pull, because these reasons alternate, and each change to the
      // message would cause another Event.
      if (status.image_pull_fails) {
        return fmt::format("container {}: {} cannot be pulled", status.name,
                           status.image.empty() ? "its image" : "the image " + status.image);
      }
      return fmt::format("container {} cannot start ({})", status.name, status.start_error);
    }
  }
  return {};
}

std::string Crashing(const Pod& pod) {
  constexpr int kRestartsMin = 3;
  for (const auto* statuses : {&pod.init_container_statuses, &pod.container_statuses}) {
    for (const ContainerStatus& status : *statuses) {
      if (status.ready || status.restart_count < kRestartsMin) continue;
      return fmt::format("container {} keeps crashing", status.name);
    }
  }
  return {};
}

}  // namespace driverupgrade::internal
