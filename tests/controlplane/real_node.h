// A node with a real kubelet and a real container runtime, next to the simulated ones.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_

#include <filesystem>
#include <memory>
#include <string>

#include "control_plane.h"
#include "process.h"

namespace driverupgrade::e2e {

// Uses the programs and images of scripts/node.sh, which include ours under the names in our manifests. Runs only
// within node/namespaces.sh, and ends with it, together with its containers, addresses and mounts.
class RealNode {
 public:
  // Throws std::runtime_error if it does not become Ready, or if the process does not run within node/namespaces.sh.
  explicit RealNode(ControlPlane& control_plane);
  RealNode(const RealNode&) = delete;
  RealNode& operator=(const RealNode&) = delete;

  // The host's name as a node, and the value of its label kRealNodeLabel.
  static constexpr char kName[] = "real-1";

  // Directory of the host that the pods of node/played mount as /node.
  std::filesystem::path root() const { return folder_ / "node"; }
  // Returns the log of these pods, with a line for each step.
  std::string Log() const { return ReadFile(root() / "log"); }
  void ForgetLog() const;
  // Returns the output of the container in all its runs, from the logs of pods whose name starts with `pod`.
  std::string Output(const std::string& pod, const std::string& container) const;

  // Restarts the kubelet while its containers continue to run.
  void RestartKubelet();

  // Returns the last lines of the logs of kubelet and runtime.
  std::string Troubles() const;

 private:
  void WriteFiles() const;
  void StartRuntime();
  void ImportImages() const;
  void StartKubelet();
  void AwaitReady() const;

  ControlPlane& control_plane_;
  std::filesystem::path node_;    // folder of scripts/node.sh
  std::filesystem::path folder_;  // folder of this test
  std::unique_ptr<Process> runtime_;
  std::unique_ptr<Process> kubelet_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_
