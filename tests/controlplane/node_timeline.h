// The history of the nodes: every version of each node that a witness saw.
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

// One version of one node, limited to the fields that an upgrade changes.
struct NodeVersion {
  std::string name;
  std::uint64_t version = 0;  // metadata.resourceVersion, which orders the versions of all nodes
  std::string state;          // the state label, empty if absent
  bool unschedulable = false;
  bool deleted = false;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
};

NodeVersion ToNodeVersion(const rapidjson::Value& node);

std::uint64_t LatestVersion(const std::map<std::string, NodeVersion>& nodes);

// Returns whether a node in this state is being upgraded and takes a slot.
bool IsInProgress(std::string_view state);

// A range of versions in which another operator was running. Nodes that start in this range do not set a peak.
struct Turn {
  std::uint64_t after = 0;
  std::uint64_t until = 0;
};

// The largest number of nodes in progress at the moment when a node started, and the largest number of nodes that were
// unschedulable at the same time.
struct Peaks {
  int in_progress = 0;
  int unschedulable = 0;
};

class NodeTimeline {
 public:
  // Adds a version. Versions can be added in any order, because an API server does not respond in write order.
  void Add(NodeVersion version);

  // Adds all versions of another timeline.
  void Add(const NodeTimeline& other);

  // Returns the peaks of this history. A node is in progress while `holds_slot` accepts its state, unless the node is
  // in `outside`. Nodes that start during one of the turns in `unjudged` are counted, but their starts do not set a
  // peak.
  Peaks ComputePeaks(const std::set<std::string>& outside, bool (*holds_slot)(std::string_view) = IsInProgress,
                     const std::vector<Turn>& unjudged = {}) const;

  // Returns the successive values of a node's state label.
  std::vector<std::string> StatesOf(const std::string& node) const;

  // Returns all versions of a node that were seen, in order.
  std::vector<NodeVersion> VersionsOf(const std::string& node) const;

  // Returns whether any node that still exists was in progress when it was last seen.
  bool AnyInProgress() const;

  // Returns a line for each version that changed a node's state or cordon, in order. These lines help to explain why a
  // test failed.
  std::string Changes() const;

  // Returns the nodes that still exist, as they were last seen.
  std::map<std::string, NodeVersion> Latest() const;

 private:
  std::map<std::uint64_t, NodeVersion> versions_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_NODE_TIMELINE_H_
