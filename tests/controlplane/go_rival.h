// Another operator, of the Go library, that rolls the OFED driver: its labels, its order of steps, and what it does not
// know.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_RIVAL_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_RIVAL_H_

#include <map>
#include <string>

#include "ofed_driver.h"
#include "world.h"

namespace driverupgrade::e2e {

// It cordons a node that is schedulable, drains it, deletes the driver pod, and uncordons whatever the cordon was by
// then, unless the node was cordoned when it needed the upgrade (T1, T9, T11, T21, T30, T46, §5.2). It knows no key for
// whose a cordon is, and takes no notice of what others have in progress. Written by kubectl, as patches without
// preconditions.
class GoRival {
 public:
  GoRival(const OfedDriver& driver, int parallel_max) : driver_(driver), parallel_max_(parallel_max) {}

  // Every node at most one state further, by what the nodes were at the beginning.
  void Pass();

  // How many of its nodes are in `state`.
  int Count(const std::string& state) const { return driver_.Count(kOfedState, state); }

 private:
  struct Pod {
    std::string name;
    bool is_newest = false;
    bool is_ready = false;
    bool is_going = false;
  };

  // By node; read once for each pass, as kubectl takes its time.
  std::map<std::string, Pod> ReadPods() const;
  Pod PodOn(const std::string& node) const;
  void Step(const NodeVersion& node, int& slots) const;
  void StepPod(const NodeVersion& node) const;
  void Need(const NodeVersion& node) const;
  void Drain(const NodeVersion& node) const;
  void SetState(const std::string& node, const std::string& state) const;
  const Kubectl& kubectl() const { return driver_.world().control_plane().admin(); }

  const OfedDriver& driver_;
  const int parallel_max_;
  std::map<std::string, Pod> pods_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_RIVAL_H_
