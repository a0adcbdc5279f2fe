// A node with a real kubelet and a real container runtime, alongside the simulated nodes.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_

#include <filesystem>
#include <memory>
#include <string>

#include "control_plane.h"
#include "process.h"

namespace driverupgrade::e2e {

// Uses the programs and images of scripts/node.sh, including our own images under the names that our manifests use.
// Runs only within node/namespaces.sh, and ends together with its containers, addresses and mounts when that script
// exits.
class RealNode {
 public:
  // Throws std::runtime_error if the node does not become Ready, or if the process does not run within
  // node/namespaces.sh.
  explicit RealNode(ControlPlane& control_plane);
  RealNode(const RealNode&) = delete;
  RealNode& operator=(const RealNode&) = delete;

  // Name of the host as a node, and value of the node's label kRealNodeLabel.
  static constexpr char kName[] = "real-1";

  // Directory on the host that the pods of node/played mount as /node.
  std::filesystem::path root() const { return folder_ / "node"; }
  // Returns the log of the pods of node/played, with a line for each step.
  std::string Log() const { return ReadFile(root() / "log"); }
  void ForgetLog() const;
  // Returns the output of `container` in all its runs, from the logs of pods whose name starts with `pod`.
  std::string Output(const std::string& pod, const std::string& container) const;

  // Restarts the kubelet while its containers continue to run.
  void RestartKubelet();

  // Returns the last lines of the logs of the kubelet and the container runtime.
  std::string Troubles() const;

 private:
  void WriteFiles() const;
  void StartRuntime();
  void ImportImages() const;
  void StartKubelet();
  void AwaitReady() const;

  ControlPlane& control_plane_;
  std::filesystem::path node_;    // directory that scripts/node.sh has built
  std::filesystem::path folder_;  // directory of this test
  std::unique_ptr<Process> runtime_;
  std::unique_ptr<Process> kubelet_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_REAL_NODE_H_
