/// Accesses the driver on a Linux node from an init container of the driver pod.
///
/// Defines LinuxHostOptions and LinuxHost.
///
///     LinuxHost host;                        // the node itself
///     LinuxHost other({.root = "fixture"});  // files below a directory; programs are still found through PATH
///
/// Reads /sys/module, /sys/bus/pci/devices, /proc/mounts and /run. Makes changes through programs (chroot, rmmod and
/// umount) and through /sys/bus/pci. See host_driver.h.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_LINUX_HOST_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_LINUX_HOST_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driver_manager/host_driver.h"

namespace driver_manager {

struct LinuxHostOptions {
  /// Root directory of the files. Paths from `<root>/proc/mounts` are passed to umount without the prefix `root`.
  std::filesystem::path root = "/";
  // Programs, found through PATH unless they contain a slash.
  std::string chroot = "chroot";
  std::string rmmod = "rmmod";
  std::string umount = "umount";
  /// Time limit for each run of a program. Programs can hang if a GPU hangs.
  absl::Duration timeout = absl::Minutes(2);
};

class LinuxHost final : public HostDriver {
 public:
  explicit LinuxHost(LinuxHostOptions options = {}) : options_(std::move(options)) {}
  absl::StatusOr<bool> HasPreinstalledDriver() override;
  std::optional<int> UseCount(const std::string& module) override;
  absl::Status Unload(const std::string& module) override;
  absl::Status UnmountDriverRoot() override;
  absl::Status RemovePidFile() override;
  absl::Status RemoveReadyFiles() override;
  std::string InstalledDigest() override;
  absl::Status UnbindDevices() override;
  bool HasPciDevice(const std::string& vendor) override;
  bool IsNetworkDriverReady() override;

 private:
  std::filesystem::path At(std::string_view path) const;
  std::vector<std::filesystem::path> PciDevices(std::string_view vendor) const;
  absl::Status Run(const std::vector<std::string>& command) const;

  const LinuxHostOptions options_;
};

/// Returns the mount points at `root` and below it, last mounted first. `mounts` is the content of /proc/mounts.
std::vector<std::string> MountsBelow(std::string_view mounts, std::string_view root);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_LINUX_HOST_H_
