// Tests LinuxHost with a directory that looks like a node's file system, and with programs that log their arguments.
#include "driver_manager/linux_host.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver_manager/run_command.h"
#include "support/catch.h"

namespace driver_manager {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

class NodeFolder {
 public:
  NodeFolder() {
    std::string name = (fs::temp_directory_path() / "driver-manager-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = name;
    // Modules in use stay loaded, as in the kernel.
    Program("rmmod",
            "if [ \"$(cat $ROOT/sys/module/$1/refcnt)\" != 0 ]; then echo \"rmmod: ERROR: Module $1 is in use\" >&2; "
            "exit 1; fi\n"
            "rm -r $ROOT/sys/module/$1");
    Program("umount", "[ \"$1\" != /run/nvidia/driver ] || : > $ROOT/proc/mounts");
    Program("chroot", "exit 127");
  }
  ~NodeFolder() { fs::remove_all(root_); }
  NodeFolder(const NodeFolder&) = delete;
  NodeFolder& operator=(const NodeFolder&) = delete;

  void Write(const std::string& path, const std::string& text) const {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  // Writes a shell script that first logs its name and arguments.
  void Program(const std::string& name, const std::string& body) const {
    Write("bin/" + name,
          "#!/bin/sh\nROOT=" + root_.string() + "\necho \"" + name + " $*\" >> $ROOT/log\n" + body + "\n");
    fs::permissions(root_ / "bin" / name, fs::perms::owner_all);
  }
  void Module(const std::string& name, int users) const {
    Write("sys/module/" + name + "/refcnt", std::to_string(users) + "\n");
  }
  void PciDevice(const std::string& address, const std::string& vendor, const std::string& driver = {},
                 const std::string& device_class = "0x030200") const {
    Write("sys/bus/pci/devices/" + address + "/vendor", vendor + "\n");
    Write("sys/bus/pci/devices/" + address + "/class", device_class + "\n");
    if (driver.empty()) return;
    fs::create_directories(root_ / "sys/bus/pci/drivers" / driver);
    fs::create_directory_symlink(root_ / "sys/bus/pci/drivers" / driver,
                                 root_ / "sys/bus/pci/devices" / address / "driver");
  }
  std::string Read(const std::string& path) const {
    std::ifstream file(root_ / path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  bool Has(const std::string& path) const { return fs::exists(root_ / path); }
  std::string Root() const { return root_.string(); }

  LinuxHost Host(absl::Duration timeout = absl::Minutes(2)) const {
    const auto program = [&](const char* name) { return (root_ / "bin" / name).string(); };
    return LinuxHost({.root = root_,
                      .chroot = program("chroot"),
                      .rmmod = program("rmmod"),
                      .umount = program("umount"),
                      .timeout = timeout});
  }
  Lines Log() const {
    std::ifstream file(root_ / "log");
    Lines lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  fs::path root_;
};

constexpr char kMounts[] =
    "proc /proc proc rw 0 0\n"
    "overlay /run/nvidia/driver overlay rw 0 0\n"
    "tmpfs /run/nvidia/driver/run tmpfs rw 0 0\n"
    "tmpfs /run/nvidia/driver/a\\040b tmpfs rw 0 0\n"
    "tmpfs /run/nvidia/drivers tmpfs rw 0 0\n";

TEST_CASE(
    "a driver is unloaded module by module, unmounted from the innermost mount outwards, and its PID file is removed") {
  const NodeFolder node;
  node.Module("nvidia", 0);
  node.Module("nvidia_uvm", 0);
  node.Module("nvidia_modeset", 0);
  node.Module("xfs", 7);
  node.Write("proc/mounts", kMounts);
  node.Write("run/nvidia/nvidia-driver.pid", "42");
  LinuxHost host = node.Host();

  REQUIRE(UnloadDriver(host) == absl::OkStatus());

  CHECK(node.Log() == Lines{"rmmod nvidia_modeset", "rmmod nvidia_uvm", "rmmod nvidia", "umount /run/nvidia/driver/a b",
                            "umount /run/nvidia/driver/run", "umount /run/nvidia/driver"});
  CHECK_FALSE(host.UseCount("nvidia").has_value());
  CHECK(host.UseCount("xfs") == 7);
  CHECK_FALSE(node.Has("run/nvidia/nvidia-driver.pid"));

  REQUIRE(UnloadDriver(host) == absl::OkStatus());
  CHECK(node.Log().size() == 6);
}

TEST_CASE("a module in use causes an error, and the modules before it are unloaded") {
  const NodeFolder node;
  node.Module("nvidia", 2);
  node.Module("nvidia_uvm", 0);
  node.Write("proc/mounts", kMounts);
  LinuxHost host = node.Host();

  const absl::Status status = UnloadDriver(host);

  const std::string text(status.message());
  CHECK(text.find("unload module nvidia (used 2 times)") != std::string::npos);
  CHECK(text.find("exit code 1: rmmod: ERROR: Module nvidia is in use") != std::string::npos);
  CHECK(node.Log() == Lines{"rmmod nvidia_uvm", "rmmod nvidia"});
}

TEST_CASE("failure to unmount a file system is an error") {
  const NodeFolder node;
  node.Write("proc/mounts", kMounts);
  node.Program("umount", "echo target is busy; exit 32");
  LinuxHost host = node.Host();
  const std::string text(host.UnmountDriverRoot().message());
  CHECK(text.find("unmount /run/nvidia/driver: ") != std::string::npos);
  CHECK(text.find("exit code 32: target is busy") != std::string::npos);
  CHECK(node.Log().size() == 3);
}

// The names are the same as in the tests of github.com/NVIDIA/k8s-driver-manager, pull request 263.
TEST_CASE("the ready files of the driver and of the validation pods are removed, and all other files stay") {
  const NodeFolder node;
  const std::string folder = "run/nvidia/validations/";
  const Lines removed = {"driver-ready",      "toolkit-ready",         "cuda-ready", "plugin-ready", "vfio-pci-ready",
                         ".driver-ctr-ready", ".driver-daemons-status"};
  const Lines kept = {".cc-manager-ctr-ready", "workload-type", "driver-ready.1.tmp"};
  for (const Lines& names : {removed, kept}) {
    for (const std::string& name : names) node.Write(folder + name, "x");
  }
  node.Write("run/nvidia/other-ready", "x");
  LinuxHost host = node.Host();

  CHECK(host.RemoveReadyFiles() == absl::OkStatus());

  for (const std::string& name : removed) {
    CAPTURE(name);
    CHECK_FALSE(node.Has(folder + name));
  }
  for (const std::string& name : kept) {
    CAPTURE(name);
    CHECK(node.Has(folder + name));
  }
  CHECK(node.Has("run/nvidia/other-ready"));
  CHECK(host.RemoveReadyFiles() == absl::OkStatus());
}

TEST_CASE("if a ready file cannot be removed, the error names it, and the others are removed") {
  const NodeFolder node;
  node.Write("run/nvidia/validations/cuda-ready/file", "x");  // a directory that is not empty
  node.Write("run/nvidia/validations/driver-ready", "x");
  node.Write("run/nvidia/validations/toolkit-ready", "x");

  const absl::Status status = node.Host().RemoveReadyFiles();

  CHECK(absl::IsFailedPrecondition(status));
  CHECK(std::string(status.message()).find("/run/nvidia/validations/cuda-ready: ") != std::string::npos);
  CHECK_FALSE(node.Has("run/nvidia/validations/driver-ready"));
  CHECK_FALSE(node.Has("run/nvidia/validations/toolkit-ready"));
}

TEST_CASE("an empty host needs no work") {
  const NodeFolder node;
  LinuxHost host = node.Host();
  CHECK(UnloadDriver(host) == absl::OkStatus());
  CHECK(host.UnbindDevices() == absl::OkStatus());
  CHECK(host.RemoveReadyFiles() == absl::OkStatus());
  CHECK(host.InstalledDigest().empty());
  CHECK_FALSE(host.IsNetworkDriverReady());
  CHECK_FALSE(host.HasPciDevice(kMellanoxVendor));
  CHECK(*host.HasPreinstalledDriver() == false);
  CHECK(node.Log().empty());
}

TEST_CASE("a driver that is installed on the host is detected by nvidia-smi in the host's file system") {
  const NodeFolder node;
  node.Write("host/etc/hostname", "gpu-7");
  SECTION("no driver") { CHECK(*node.Host().HasPreinstalledDriver() == false); }
  SECTION("a driver") {
    node.Program("chroot", "echo 550.54.15");
    CHECK(*node.Host().HasPreinstalledDriver());
  }
  SECTION("nvidia-smi finds no device") {
    node.Program("chroot", "echo no devices were found; exit 9");
    CHECK(*node.Host().HasPreinstalledDriver() == false);
  }
  CHECK(node.Log() ==
        Lines{"chroot " + node.Root() + "/host nvidia-smi --query-gpu=driver_version --format=csv,noheader"});
}

TEST_CASE("the status files of the driver containers are read") {
  const NodeFolder node;
  node.Write("run/nvidia/nvidia-driver.state", "d-1\n");
  node.Write("run/mellanox/drivers/.driver-ready", "");
  LinuxHost host = node.Host();
  CHECK(host.InstalledDigest() == "d-1");
  CHECK(host.IsNetworkDriverReady());
}

TEST_CASE("devices are found by vendor") {
  const NodeFolder node;
  node.PciDevice("0000:01:00.0", "0x15b3");
  CHECK(node.Host().HasPciDevice(kMellanoxVendor));
  CHECK_FALSE(node.Host().HasPciDevice("0x8086"));
}

// Follows unbind.go in cmd/vfio-manage and nvpassthrough.go in internal/nvpassthrough of
// github.com/NVIDIA/k8s-driver-manager.
TEST_CASE("W32: GPUs and NVSwitches are unbound from any driver, and other devices stay bound") {
  const NodeFolder node;
  const auto unbound = [&](const std::string& driver) {
    return node.Read("sys/bus/pci/drivers/" + driver + "/unbind");
  };
  node.PciDevice("0000:01:00.0", "0x15b3", "mlx5_core");
  node.PciDevice("0000:02:00.0", "0x10de", "nvgrace_gpu_vfio_pci");
  node.PciDevice("0000:03:00.0", "0x10de", "vfio-pci", "0x068000");
  node.PciDevice("0000:04:00.0", "0x10de", "xhci_hcd", "0x0c0330");
  node.PciDevice("0000:05:00.0", "0x10de");
  node.Write("sys/bus/pci/devices/0000:02:00.0/driver_override", "nvgrace_gpu_vfio_pci\n");
  CHECK(node.Host().UnbindDevices() == absl::OkStatus());
  CHECK(unbound("nvgrace_gpu_vfio_pci") == "0000:02:00.0\n");
  CHECK(node.Read("sys/bus/pci/devices/0000:02:00.0/driver_override") == "\n");
  CHECK(unbound("vfio-pci") == "0000:03:00.0\n");
  CHECK(node.Read("sys/bus/pci/devices/0000:05:00.0/driver_override") == "\n");
  CHECK_FALSE(node.Has("sys/bus/pci/drivers/mlx5_core/unbind"));
  CHECK_FALSE(node.Has("sys/bus/pci/drivers/xhci_hcd/unbind"));
  CHECK(node.Log().empty());  // unbinding runs no program
}

TEST_CASE("W32: a GPU with a display is unbound together with the device that depends on it") {
  const NodeFolder node;
  node.PciDevice("0000:02:00.0", "0x10de", "vfio-pci", "0x030000");
  node.PciDevice("0000:02:00.1", "0x10de", "snd_hda_intel", "0x040300");
  node.Write("sys/bus/pci/devices/0000:02:00.0/consumer:pci:0000:02:00.1", "");
  CHECK(node.Host().UnbindDevices() == absl::OkStatus());
  CHECK(node.Read("sys/bus/pci/drivers/vfio-pci/unbind") == "0000:02:00.0\n");
  CHECK(node.Read("sys/bus/pci/drivers/snd_hda_intel/unbind") == "0000:02:00.1\n");
}

TEST_CASE("the error for a failure to unbind a GPU names the GPU") {
  const NodeFolder node;
  node.PciDevice("0000:03:00.0", "0x10de", "vfio-pci");
  fs::create_directories(node.Root() + "/sys/bus/pci/drivers/vfio-pci/unbind");  // cannot be written
  const absl::Status status = node.Host().UnbindDevices();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(std::string(status.message()).find("write `0000:03:00.0` to ") != std::string::npos);
}

TEST_CASE("running a program fails if the program is missing or hangs") {
  const NodeFolder node;
  node.Module("nvidia", 0);
  SECTION("missing") {
    fs::remove(node.Root() + "/bin/rmmod");
    const absl::Status status = node.Host().Unload("nvidia");
    CHECK(absl::IsNotFound(status));
    CHECK(std::string(status.message()).find("/bin/rmmod nvidia: no such program") != std::string::npos);
  }
  SECTION("hangs, with a child that keeps its output open") {
    node.Program("rmmod", "sleep 600 &\nsleep 600");
    const absl::Status status = node.Host(absl::Milliseconds(200)).Unload("nvidia");
    CHECK(absl::IsDeadlineExceeded(status));
  }
}

TEST_CASE("a command returns its output and its exit code") {
  const absl::StatusOr<CommandResult> result =
      RunCommand({"sh", "-c", "echo out; echo err >&2; cat; exit 3"}, absl::Minutes(2));
  REQUIRE(result.ok());
  CHECK(result->exit_code == 3);
  CHECK(result->output == "out\nerr");
  CHECK(RunCommand({"sh", "-c", "kill -9 $$"}, absl::Minutes(2))->exit_code == 137);
  CHECK(RunCommand({"sh", "-c", "yes | head -c 200000"}, absl::Minutes(2))->output.size() <= 64 * 1024);
}

}  // namespace
}  // namespace driver_manager
