/// The driver as the node's operating system knows it: modules, mounts, files.
///
/// Defines HostDriver, UnloadDriver, RemoveRemains and UnloadIfLoaded. LinuxHost (linux_host.h) is the real one.
///
///     if (host.UseCount("nvidia")) { absl::Status unloaded = UnloadDriver(host); }
///
/// Not thread-safe. Errors say what was attempted and what the system answered.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_HOST_DRIVER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_HOST_DRIVER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace driver_manager {

inline constexpr char kNvidiaModule[] = "nvidia";
inline constexpr char kNouveauModule[] = "nouveau";
/// Of the network driver that the host brings.
inline constexpr char kMlx5Module[] = "mlx5_core";
inline constexpr char kMellanoxVendor[] = "0x15b3";

class HostDriver {
 public:
  virtual ~HostDriver() = default;
  /// Whether the host has a driver of its own, outside of any container.
  virtual absl::StatusOr<bool> HasPreinstalledDriver() = 0;
  /// How often a module is in use; nullopt if it is not loaded.
  virtual std::optional<int> UseCount(const std::string& module) = 0;
  virtual absl::Status Unload(const std::string& module) = 0;
  /// Unmounts the root of the former driver container and all below it. OK if nothing is mounted.
  virtual absl::Status UnmountDriverRoot() = 0;
  /// Removes what says that the former driver container runs. OK if there is no such file.
  virtual absl::Status RemovePidFile() = 0;
  /// The digest that the driver container stored when it had installed the driver; empty if there is none.
  virtual std::string InstalledDigest() = 0;
  /// Releases GPUs, with the devices that depend on them, and NVSwitches from their drivers, such as vfio-pci, which
  /// gives devices to virtual machines. All devices are tried. Errors: FailedPrecondition with the files that could not be written.
  virtual absl::Status UnbindDevices() = 0;
  /// `vendor` as in sysfs: "0x15b3".
  virtual bool HasPciDevice(const std::string& vendor) = 0;
  /// Whether the container of the network driver has said that it is ready.
  virtual bool IsNetworkDriverReady() = 0;
};

/// Unloads the modules of the driver that are loaded, in the order of their dependencies, then removes its mounts and
/// its PID file. All modules are tried; any that stays is an error.
absl::Status UnloadDriver(HostDriver& host);

/// What a former driver container has left behind: mounts and PID file.
absl::Status RemoveRemains(HostDriver& host);

absl::Status UnloadIfLoaded(HostDriver& host, const std::string& module);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_HOST_DRIVER_H_
