// A node with a real kubelet and a real container runtime beside the played ones.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_

#include <filesystem>
#include <memory>
#include <string>

#include "control_plane.h"
#include "process.h"

namespace driverupgrade::e2e {

// Its programs and images are those of scripts/node.sh, among them ours under the names of our manifests. It runs within
// node/namespaces.sh only, and ends with it: containers, addresses and mounts are gone then.
class RealNode {
 public:
  // Throws std::runtime_error if it does not get Ready, or if the process does not run within node/namespaces.sh.
  explicit RealNode(ControlPlane& control_plane);
  RealNode(const RealNode&) = delete;
  RealNode& operator=(const RealNode&) = delete;

  // Its name as a node, and as the value of its label kRealNodeLabel.
  static constexpr char kName[] = "real-1";

  // The folder of the host that is /node in the pods of node/played.
  std::filesystem::path root() const { return folder_ / "node"; }
  // What they have written there, a line for each step.
  std::string Log() const { return ReadFile(root() / "log"); }
  void ForgetLog() const;
  // What the container said in all its runs: logs of pods whose name begins with `pod`.
  std::string Output(const std::string& pod, const std::string& container) const;

  // Its containers run on.
  void RestartKubelet();

  // The ends of the logs of kubelet and runtime.
  std::string Troubles() const;

 private:
  void WriteFiles() const;
  void StartRuntime();
  void ImportImages() const;
  void StartKubelet();
  void AwaitReady() const;

  ControlPlane& control_plane_;
  std::filesystem::path node_;    // of scripts/node.sh
  std::filesystem::path folder_;  // of this test
  std::unique_ptr<Process> runtime_;
  std::unique_ptr<Process> kubelet_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_
