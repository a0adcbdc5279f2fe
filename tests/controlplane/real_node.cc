#include "real_node.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "support.h"

namespace driverupgrade::e2e {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLimit{60};
constexpr int kLogLines = 15;
// Labels that NVIDIA's operator sets on a node with a GPU.
constexpr char kGpuLabels[] =
    ",nvidia.com/gpu.present=true,nvidia.com/gpu.deploy.driver=true,nvidia.com/gpu.deploy.operator-validator=true";

fs::path FindNode() {
  const char* folder = std::getenv("DRIVERUPGRADE_REAL_NODE");
  if (folder == nullptr) throw std::runtime_error("a real node needs tests/controlplane/node/namespaces.sh");
  return folder;
}

fs::path SourceFolder() { return RbacFolder().parent_path().parent_path() / "tests/controlplane/node"; }

}  // namespace

RealNode::RealNode(ControlPlane& control_plane)
    : control_plane_(control_plane), node_(FindNode()), folder_(node_ / "run") {
  WriteFiles();
  StartRuntime();
  ImportImages();
  StartKubelet();
  AwaitReady();
  // Reports GPUs as a device plugin would.
  control_plane_.admin().Must({"patch", "node", kName, "--subresource=status", "--type=merge",
                               R"(--patch={"status": {"capacity": {"nvidia.com/gpu": "2"}}})"});
}

void RealNode::WriteFiles() const {
  for (const char* folder : {"cni", "addresses", "opt", "node/bin", "node/sys/module", "node/proc"}) {
    fs::create_directories(folder_ / folder);
  }
  for (const auto& [from, to] :
       {std::pair("containerd.toml", "containerd.toml"), std::pair("kubelet.yaml", "kubelet.yaml"),
        std::pair("pods.conflist", "cni/pods.conflist")}) {
    WriteFile(folder_ / to, Substitute(ReadFile(SourceFolder() / from), {{"$DIR", folder_.string()}}));
  }
  // The tools that unload a module come from the build context of the images in node/played.
  for (const char* program : {"busybox", "rmmod"}) {
    fs::copy_file(node_ / "context/bin" / program, root() / "bin" / program);
  }
  // Pods write to this file as any user.
  WriteFile(root() / "log", "");
  chmod(root().c_str(), 0777);
  chmod((root() / "log").c_str(), 0666);
}

void RealNode::StartRuntime() {
  ProcessOptions options;
  options.out = folder_ / "containerd.log";
  // containerd looks for its shim in PATH.
  options.environment = {{"PATH", (node_ / "bin").string() + ":" + std::getenv("PATH")}};
  runtime_ = std::make_unique<Process>(
      std::vector<std::string>{(node_ / "bin/containerd").string(), "--config", (folder_ / "containerd.toml").string()},
      options);
  if (!Eventually(kLimit, [&] { return fs::exists(folder_ / "containerd.sock") || !runtime_->IsRunning(); }) ||
      !runtime_->IsRunning()) {
    throw std::runtime_error("containerd does not start\n" + Troubles());
  }
}

void RealNode::ImportImages() const {
  for (const fs::directory_entry& image : fs::directory_iterator(node_ / "images")) {
    ProcessOptions options;
    options.out = folder_ / "ctr.log";
    Process import({(node_ / "bin/ctr").string(), "--address", (folder_ / "containerd.sock").string(), "--namespace",
                    "k8s.io", "images", "import", "--local", "--snapshotter", "native", image.path().string()},
                   options);
    if (import.Wait(kLimit) != 0) {
      throw std::runtime_error("cannot import " + image.path().string() + ": " + ReadFile(options.out));
    }
  }
}

void RealNode::StartKubelet() {
  ProcessOptions options;
  options.out = folder_ / "kubelet.log";
  kubelet_ = std::make_unique<Process>(
      std::vector<std::string>{(node_ / "bin/kubelet").string(), "--config=" + (folder_ / "kubelet.yaml").string(),
                               "--kubeconfig=" + (control_plane_.folder() / "admin.kubeconfig").string(),
                               "--root-dir=" + (folder_ / "kubelet").string(),
                               "--cert-dir=" + (folder_ / "kubelet-certs").string(),
                               "--hostname-override=" + std::string(kName), "--node-ip=10.0.0.1",
                               "--node-labels=" + std::string(kRealNodeLabel) + "=" + kName + kGpuLabels},
      options);
}

void RealNode::AwaitReady() const {
  const auto is_ready = [&] {
    return control_plane_.admin()
               .Run({"get", "node", kName,
                     R"(--output=jsonpath={.status.conditions[?(@.type=="Ready")].status} {.spec.taints})"})
               .out == "True ";
  };
  if (!Eventually(kLimit, is_ready)) throw std::runtime_error("the real node does not become Ready\n" + Troubles());
}

// Truncates the file instead of deleting it, because pods have it open.
void RealNode::ForgetLog() const { fs::resize_file(root() / "log", 0); }

void RealNode::RestartKubelet() {
  kubelet_.reset();
  StartKubelet();
  AwaitReady();
}

std::string RealNode::Output(const std::string& pod, const std::string& container) const {
  std::string output;
  std::error_code none;
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder_ / "pod-logs", none)) {
    // Log path: namespace_pod_uid/container/0.log
    const std::string name = file.path().parent_path().parent_path().filename().string();
    const bool is_its = file.path().extension() == ".log" && file.path().parent_path().filename() == container &&
                        name.find("_" + pod) != std::string::npos;
    if (is_its) output += ReadFile(file.path());
  }
  return output;
}

std::string RealNode::Troubles() const {
  return "containerd: " + LastLines(folder_ / "containerd.log", kLogLines) +
         "\nkubelet: " + LastLines(folder_ / "kubelet.log", kLogLines);
}

}  // namespace driverupgrade::e2e
