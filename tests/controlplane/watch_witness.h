// A raw watch on the nodes of one world. This second witness also sees the writes of clients other than the operator.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_WATCH_WITNESS_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_WATCH_WITNESS_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "control_plane.h"
#include "node_timeline.h"
#include "process.h"

namespace driverupgrade::e2e {

// Runs `kubectl get nodes --watch` in the background from its construction on. The watch follows the cluster with a
// small delay, so use Eventually to wait for an expected entry of the timeline.
class WatchWitness {
 public:
  // Waits until the watch has seen `nodes` nodes with the label `selector`. Throws std::runtime_error if this takes too
  // long.
  WatchWitness(ControlPlane& control_plane, const std::string& selector, std::size_t nodes);

  // Returns everything that the watch has seen so far. Throws std::runtime_error if the watch has ended, because an
  // ended watch misses changes.
  const NodeTimeline& Read();

 private:
  std::filesystem::path file_;
  std::unique_ptr<Process> watch_;
  std::size_t offset_ = 0;
  NodeTimeline timeline_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_WATCH_WITNESS_H_
