/// The driver on a Linux node, as an init container of the driver's pod sees it.
///
/// Defines LinuxHostOptions and LinuxHost.
///
///     LinuxHost host;                          // the node itself
///     LinuxHost other({.root = "fixture"});  // files below a folder; programs are still found by PATH
///
/// Reads /sys/module, /sys/bus/pci/devices, /proc/mounts and /run; changes things by programs, chroot, rmmod and umount, and
/// devices by /sys/bus/pci. See host_driver.h.
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
  /// Where the files are. What umount is given are paths as they stand in `<root>/proc/mounts`.
  std::filesystem::path root = "/";
  // Programs, looked up in PATH unless they have a slash.
  std::string chroot = "chroot";
  std::string rmmod = "rmmod";
  std::string umount = "umount";
  /// For each run of one of them. A GPU that hangs makes them hang.
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

/// The mount points at `root` and below it, the last mounted first, as a text of /proc/mounts has them.
std::vector<std::string> MountsBelow(std::string_view mounts, std::string_view root);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_LINUX_HOST_H_
