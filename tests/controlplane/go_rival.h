// Imitates an OFED driver operator that is built on the Go library, with the library's labels, order of steps, and
// blind spots.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_RIVAL_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_RIVAL_H_

#include <map>
#include <string>

#include "ofed_driver.h"
#include "world.h"

namespace driverupgrade::e2e {

// Cordons a schedulable node, drains it, deletes the driver pod, and uncordons the node, even if another client holds
// the cordon by then. The rival leaves a cordon only if the node was already cordoned when the rival set the state
// upgrade-required (T1, T9, T11, T21, T30, T46, §5.2). The rival stores no cordon owner on the node, and does not check
// whether other operators have the node in progress. It writes with kubectl, in patches without preconditions.
class GoRival {
 public:
  GoRival(const OfedDriver& driver, int parallel_max) : driver_(driver), parallel_max_(parallel_max) {}

  // Moves every node by at most one state, based on the nodes' states at the start of the pass.
  void Pass();

  // Returns how many nodes have the rival's state label with the value `state`.
  int Count(const std::string& state) const { return driver_.Count(kOfedState, state); }

 private:
  struct Pod {
    std::string name;
    bool is_newest = false;
    bool is_ready = false;
    bool is_going = false;
  };

  // Returns the pods by node. Called once per pass, because kubectl is slow.
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
