/// The driver in the node's operating system: modules, mounts, files.
///
/// Defines HostDriver, UnloadDriver, RemoveRemains and UnloadIfLoaded. LinuxHost (linux_host.h) is the real
/// implementation.
///
///     if (host.UseCount("nvidia")) { absl::Status unloaded = UnloadDriver(host); }
///
/// Not thread-safe. Errors contain the attempted action and the system's error.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_HOST_DRIVER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_HOST_DRIVER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace driver_manager {

inline constexpr char kNvidiaModule[] = "nvidia";
inline constexpr char kNouveauModule[] = "nouveau";
/// Module of the host's own network driver.
inline constexpr char kMlx5Module[] = "mlx5_core";
inline constexpr char kMellanoxVendor[] = "0x15b3";

class HostDriver {
 public:
  virtual ~HostDriver() = default;
  /// Returns true if the host has its own driver, outside of any container.
  virtual absl::StatusOr<bool> HasPreinstalledDriver() = 0;
  /// Returns the use count of a module; nullopt if the module is not loaded.
  virtual std::optional<int> UseCount(const std::string& module) = 0;
  virtual absl::Status Unload(const std::string& module) = 0;
  /// Unmounts the root of the former driver container and everything below it. Returns OK if nothing is mounted.
  virtual absl::Status UnmountDriverRoot() = 0;
  /// Removes the PID file that a former driver container left behind. Returns OK if the file does not exist.
  virtual absl::Status RemovePidFile() = 0;
  /// Removes the files with which the former driver container and NVIDIA's validation pods have reported that the
  /// driver and the operands are ready. Tries all files. Returns OK if no such file exists.
  virtual absl::Status RemoveReadyFiles() = 0;
  /// Returns the digest that the driver container stored after installing the driver; empty if there is no digest.
  virtual std::string InstalledDigest() = 0;
  /// Unbinds NVSwitches, GPUs and the devices that depend on GPUs from their drivers, such as vfio-pci, which passes
  /// devices to virtual machines. Tries all devices. Errors: FailedPrecondition with the files that could not be
  /// written.
  virtual absl::Status UnbindDevices() = 0;
  /// Returns true if the host has a PCI device of this vendor. `vendor` is an ID in the format of sysfs: "0x15b3".
  virtual bool HasPciDevice(const std::string& vendor) = 0;
  /// Returns true if the network driver's container has reported that it is ready.
  virtual bool IsNetworkDriverReady() = 0;
};

/// Unloads the driver's loaded modules in the order of their dependencies, then removes the driver's mounts and PID
/// file. Tries all modules; returns an error if any of them stays loaded.
absl::Status UnloadDriver(HostDriver& host);

/// Removes the mounts and the PID file of a former driver container.
absl::Status RemoveRemains(HostDriver& host);

absl::Status UnloadIfLoaded(HostDriver& host, const std::string& module);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_HOST_DRIVER_H_
