#include "driver_manager/host_driver.h"

#include <vector>

#include "driver_manager/status_text.h"
#include "fmt/ranges.h"

namespace driver_manager {
namespace {

// The driver's modules. Each module comes before the modules that it uses.
constexpr const char* kModules[] = {"nvidia_modeset",   "nvidia_uvm", "nvidia_peermem", "nvidia_fs",
                                    "nvidia_vgpu_vfio", "gdrdrv",     kNvidiaModule};

}  // namespace

absl::Status UnloadIfLoaded(HostDriver& host, const std::string& module) {
  const std::optional<int> users = host.UseCount(module);
  if (!users) return absl::OkStatus();
  return Named(fmt::format("unload module {} (used {} times)", module, *users), host.Unload(module));
}

absl::Status RemoveRemains(HostDriver& host) {
  if (absl::Status status = host.UnmountDriverRoot(); !status.ok()) return status;
  return host.RemovePidFile();
}

absl::Status UnloadDriver(HostDriver& host) {
  std::vector<std::string> errors;
  for (const char* module : kModules) {
    if (const absl::Status status = UnloadIfLoaded(host, module); !status.ok()) {
      errors.emplace_back(Message(status));
    }
  }
  if (!errors.empty()) return absl::FailedPreconditionError(fmt::format("{}", fmt::join(errors, "; ")));
  return RemoveRemains(host);
}

}  // namespace driver_manager
