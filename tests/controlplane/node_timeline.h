// What became of the nodes, version by version, as a witness saw it.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_NODE_TIMELINE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_NODE_TIMELINE_H_

#include <rapidjson/document.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace driverupgrade::e2e {

inline constexpr char kStateLabel[] = "nvidia.com/gpu-driver-upgrade-state";

// One version of one node: the part of it that an upgrade touches.
struct NodeVersion {
  std::string name;
  std::uint64_t version = 0;  // metadata.resourceVersion: one order over all nodes
  std::string state;          // the state label, empty if absent
  bool unschedulable = false;
  bool deleted = false;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
};

NodeVersion ToNodeVersion(const rapidjson::Value& node);

std::uint64_t LatestVersion(const std::map<std::string, NodeVersion>& nodes);

// Whether an upgrade is under way on a node in this state and takes one of its slots.
bool IsInProgress(std::string_view state);

// The versions over which somebody whose starts are not judged was at work.
struct Turn {
  std::uint64_t after = 0;
  std::uint64_t until = 0;
};

// The largest numbers of nodes that were in progress, when one began, and that were unschedulable at one time.
struct Peaks {
  int in_progress = 0;
  int unschedulable = 0;
};

class NodeTimeline {
 public:
  // In any order: an API server does not answer in the order of its writes.
  void Add(NodeVersion version);

  // What another witness saw.
  void Add(const NodeTimeline& other);

  // The nodes of `outside` are not counted in progress. What begins in one of `unjudged` is counted, and makes no peak.
  Peaks ComputePeaks(const std::set<std::string>& outside, bool (*holds_slot)(std::string_view) = IsInProgress,
                     const std::vector<Turn>& unjudged = {}) const;

  // The values that the state label of a node had, one after the other.
  std::vector<std::string> StatesOf(const std::string& node) const;

  // All versions of a node that were seen, in their order.
  std::vector<NodeVersion> VersionsOf(const std::string& node) const;

  // Whether a node that is there was in progress when it was last seen.
  bool AnyInProgress() const;

  // A line for each version that changed a node's state or its cordon, in their order: for whoever reads why a test
  // failed.
  std::string Changes() const;

  // The nodes that are there, as they were last seen.
  std::map<std::string, NodeVersion> Latest() const;

 private:
  std::map<std::uint64_t, NodeVersion> versions_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_NODE_TIMELINE_H_
