// A fake of a node's operating system.
#ifndef DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_DRIVER_MANAGER_FAKE_HOST_H_
#define DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_DRIVER_MANAGER_FAKE_HOST_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver_manager/host_driver.h"

namespace driver_manager {

struct FakeHost final : HostDriver {
  absl::StatusOr<bool> HasPreinstalledDriver() override { return preinstalled; }
  std::optional<int> UseCount(const std::string& module) override {
    const auto found = modules.find(module);
    return found == modules.end() ? std::nullopt : std::optional(found->second);
  }
  // The test decides which modules stay loaded.
  absl::Status Unload(const std::string& module) override {
    const absl::Status status = before_unload ? before_unload(module) : absl::OkStatus();
    done.push_back((status.ok() ? "unload " : "cannot unload ") + module);
    if (status.ok()) modules.erase(module);
    return status;
  }
  absl::Status UnmountDriverRoot() override {
    done.emplace_back("unmount");
    return unmount_status;
  }
  absl::Status RemovePidFile() override {
    done.emplace_back("remove PID file");
    return absl::OkStatus();
  }
  absl::Status RemoveReadyFiles() override {
    if (before_remove_ready_files) before_remove_ready_files();
    done.emplace_back("remove ready files");
    return ready_files_status;
  }
  std::string InstalledDigest() override { return digest; }
  absl::Status UnbindDevices() override {
    done.emplace_back("unbind devices");
    return unbind_status;
  }
  bool HasPciDevice(const std::string& vendor) override { return vendors.contains(vendor); }
  bool IsNetworkDriverReady() override { return network_driver_ready && network_driver_ready(); }

  absl::StatusOr<bool> preinstalled = false;
  std::map<std::string, int> modules = {};
  std::function<absl::Status(const std::string& module)> before_unload = nullptr;
  std::function<void()> before_remove_ready_files = nullptr;
  absl::Status unmount_status = absl::OkStatus();
  absl::Status ready_files_status = absl::OkStatus();
  absl::Status unbind_status = absl::OkStatus();
  std::string digest = {};
  std::set<std::string> vendors = {};
  std::function<bool()> network_driver_ready = nullptr;
  // All changes to the host, in the order in which they were made.
  std::vector<std::string> done = {};
};

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_TESTS_EXAMPLES_OPERATORS_DRIVER_MANAGER_FAKE_HOST_H_
