#include "driver_manager/linux_host.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "driver_manager/run_command.h"
#include "driver_manager/status_text.h"
#include "fmt/ranges.h"

namespace driver_manager {
namespace {

namespace fs = std::filesystem;

constexpr char kDriverRoot[] = "/run/nvidia/driver";
constexpr char kPidFile[] = "/run/nvidia/nvidia-driver.pid";
constexpr char kStateFile[] = "/run/nvidia/nvidia-driver.state";
constexpr char kValidations[] = "/run/nvidia/validations";
constexpr char kNetworkDriverReady[] = "/run/mellanox/drivers/.driver-ready";
constexpr char kNvidiaVendor[] = "0x10de";
// PCI device classes: graphics adapters with and without a display, and NVSwitches.
constexpr char kVgaClass[] = "0x030000";
constexpr char k3dClass[] = "0x030200";
constexpr char kSwitchClass[] = "0x068000";
// Prefix of a link in a device's directory to a dependent device, such as the sound device of a graphics adapter.
constexpr std::string_view kConsumerPrefix = "consumer:pci:";

// Returns the contents of the file; empty if the file cannot be read. Reads to the end, because files in proc and sysfs
// report no usable size.
std::string ReadText(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return text;
}

std::string ReadLine(const fs::path& file) {
  std::string text = ReadText(file);
  absl::StripAsciiWhitespace(&text);
  return text;
}

bool WriteLine(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text << '\n' << std::flush;
  return stream.good();
}

// Unbinds a PCI device from its driver, if the device has one. Adds failed writes to `errors`.
void Unbind(const fs::path& device, std::vector<std::string>& errors) {
  const auto write = [&](const fs::path& file, const std::string& text) {
    if (!WriteLine(file, text)) errors.push_back(fmt::format("write `{}` to {}", text, file.string()));
  };
  write(device / "driver_override", "");
  std::error_code none;
  if (fs::exists(device / "driver", none)) write(device / "driver/unbind", device.filename().string());
}

// Returns the device that depends on `device`, or nullopt.
std::optional<fs::path> AuxiliaryOf(const fs::path& device) {
  std::error_code error;
  for (fs::directory_iterator it(device, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kConsumerPrefix)) continue;
    const fs::path auxiliary = device.parent_path() / name.substr(kConsumerPrefix.size());
    std::error_code none;
    if (fs::exists(auxiliary, none)) return auxiliary;
  }
  return std::nullopt;
}

// /proc/mounts escapes space, tab, newline and backslash in octal, such as \040.
std::string Unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t k) { return i + k < text.size() && text[i + k] >= '0' && text[i + k] <= '7'; };
    if (text[i] == '\\' && digit(1) && digit(2) && digit(3)) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> MountsBelow(std::string_view mounts, std::string_view root) {
  std::vector<std::string> points;
  for (absl::string_view line : absl::StrSplit(absl::string_view(mounts.data(), mounts.size()), '\n')) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 2) continue;
    std::string point = Unescaped(fields[1]);
    if (point == root || point.starts_with(std::string(root) + "/")) points.push_back(std::move(point));
  }
  std::reverse(points.begin(), points.end());
  return points;
}

fs::path LinuxHost::At(std::string_view path) const { return options_.root / fs::path(path).relative_path(); }

absl::Status LinuxHost::Run(const std::vector<std::string>& command) const {
  const absl::StatusOr<CommandResult> result = RunCommand(command, options_.timeout);
  if (!result.ok()) return result.status();
  if (result->exit_code == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: exit code {}: {}", fmt::join(command, " "), result->exit_code, result->output));
}

absl::StatusOr<bool> LinuxHost::HasPreinstalledDriver() {
  const fs::path host = At("/host");
  std::error_code none;
  if (!fs::is_directory(host, none)) return false;
  const absl::StatusOr<CommandResult> result =
      RunCommand({options_.chroot, host.string(), "nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"},
                 options_.timeout);
  if (!result.ok()) return Named("look for the host's own driver", result.status());
  return result->exit_code == 0 && !result->output.empty();
}

std::optional<int> LinuxHost::UseCount(const std::string& module) {
  const fs::path file = At("/sys/module") / module / "refcnt";
  std::error_code none;
  if (!fs::exists(file, none)) return std::nullopt;
  int count = 0;
  (void)absl::SimpleAtoi(ReadLine(file), &count);
  return count;
}

absl::Status LinuxHost::Unload(const std::string& module) { return Run({options_.rmmod, module}); }

absl::Status LinuxHost::UnmountDriverRoot() {
  std::vector<std::string> errors;
  for (const std::string& point : MountsBelow(ReadText(At("/proc/mounts")), kDriverRoot)) {
    if (const absl::Status status = Run({options_.umount, point}); !status.ok()) errors.emplace_back(Message(status));
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("unmount {}: {}", kDriverRoot, fmt::join(errors, "; ")));
}

absl::Status LinuxHost::RemovePidFile() {
  std::error_code error;
  fs::remove(At(kPidFile), error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("remove {}: {}", kPidFile, error.message()));
}

// The same files as in invalidateStatusFiles of NVIDIA's k8s-driver-manager. Other hidden files belong to pods that keep
// running, such as the confidential computing manager.
absl::Status LinuxHost::RemoveReadyFiles() {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(At(kValidations), error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_of_driver = name == ".driver-ctr-ready" || name == ".driver-daemons-status";
    if (is_of_driver || (name.ends_with("-ready") && !name.starts_with("."))) files.push_back(it->path());
  }
  std::vector<std::string> errors;
  if (error && error != std::errc::no_such_file_or_directory) {
    errors.push_back(fmt::format("read {}: {}", kValidations, error.message()));
  }
  for (const fs::path& file : files) {
    std::error_code failure;
    fs::remove(file, failure);
    if (failure) errors.push_back(fmt::format("remove {}: {}", file.string(), failure.message()));
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("{}", fmt::join(errors, "; ")));
}

std::string LinuxHost::InstalledDigest() { return ReadLine(At(kStateFile)); }

std::vector<fs::path> LinuxHost::PciDevices(std::string_view vendor) const {
  std::vector<fs::path> devices;
  std::error_code error;
  for (fs::directory_iterator it(At("/sys/bus/pci/devices"), error), end; !error && it != end; it.increment(error)) {
    if (ReadLine(it->path() / "vendor") == vendor) devices.push_back(it->path());
  }
  return devices;
}

// Same as `vfio-manage unbind --all`: unbinds every device from its driver, so that another driver can bind the device.
absl::Status LinuxHost::UnbindDevices() {
  std::vector<std::string> errors;
  for (const fs::path& device : PciDevices(kNvidiaVendor)) {
    const std::string device_class = ReadLine(device / "class");
    if (device_class != kVgaClass && device_class != k3dClass && device_class != kSwitchClass) continue;
    Unbind(device, errors);
    if (device_class != kVgaClass) continue;
    if (const std::optional<fs::path> auxiliary = AuxiliaryOf(device)) Unbind(*auxiliary, errors);
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("unbind NVIDIA's devices: cannot {}", fmt::join(errors, "; ")));
}

bool LinuxHost::HasPciDevice(const std::string& vendor) { return !PciDevices(vendor).empty(); }

bool LinuxHost::IsNetworkDriverReady() {
  std::error_code none;
  return fs::exists(At(kNetworkDriverReady), none);
}

}  // namespace driver_manager
