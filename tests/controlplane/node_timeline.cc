#include "node_timeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "json.h"

namespace driverupgrade::e2e {

NodeVersion ToNodeVersion(const rapidjson::Value& node) {
  NodeVersion version;
  version.name = Text(node, {"metadata", "name"});
  version.version = std::stoull("0" + Text(node, {"metadata", "resourceVersion"}));
  version.unschedulable = Flag(node, {"spec", "unschedulable"});
  version.labels = TextMap(node, {"metadata", "labels"});
  version.annotations = TextMap(node, {"metadata", "annotations"});
  const auto state = version.labels.find(kStateLabel);
  if (state != version.labels.end()) version.state = state->second;
  return version;
}

bool IsInProgress(std::string_view state) {
  return !state.empty() && state != "upgrade-required" && state != "upgrade-done";
}

void NodeTimeline::Add(NodeVersion version) {
  const std::uint64_t key = version.version;
  versions_.insert_or_assign(key, std::move(version));
}

void NodeTimeline::Add(const NodeTimeline& other) { versions_.insert(other.versions_.begin(), other.versions_.end()); }

Peaks NodeTimeline::ComputePeaks(const std::set<std::string>& outside, bool (*holds_slot)(std::string_view),
                                 const std::vector<Turn>& unjudged) const {
  Peaks peaks;
  std::set<std::string> in_progress;
  std::set<std::string> unschedulable;
  // Updates the set. Returns whether the node was added to it.
  const auto update = [](std::set<std::string>& nodes, const std::string& name, bool is_member) {
    if (is_member) return nodes.insert(name).second;
    nodes.erase(name);
    return false;
  };
  const auto is_judged = [&unjudged](std::uint64_t version) {
    return std::none_of(unjudged.begin(), unjudged.end(),
                        [&](const Turn& turn) { return turn.after < version && version <= turn.until; });
  };
  for (const auto& [version, node] : versions_) {
    const bool counts = !node.deleted && holds_slot(node.state) && outside.count(node.name) == 0;
    if (update(in_progress, node.name, counts) && is_judged(version)) {
      peaks.in_progress = std::max(peaks.in_progress, static_cast<int>(in_progress.size()));
    }
    if (update(unschedulable, node.name, !node.deleted && node.unschedulable)) {
      peaks.unschedulable = std::max(peaks.unschedulable, static_cast<int>(unschedulable.size()));
    }
  }
  return peaks;
}

std::vector<NodeVersion> NodeTimeline::VersionsOf(const std::string& node) const {
  std::vector<NodeVersion> versions;
  for (const auto& [_, version] : versions_) {
    if (version.name == node && !version.deleted) versions.push_back(version);
  }
  return versions;
}

std::vector<std::string> NodeTimeline::StatesOf(const std::string& node) const {
  std::vector<std::string> states;
  for (const NodeVersion& version : VersionsOf(node)) {
    if (states.empty() || states.back() != version.state) states.push_back(version.state);
  }
  return states;
}

bool NodeTimeline::AnyInProgress() const {
  const std::map<std::string, NodeVersion> nodes = Latest();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return IsInProgress(node.second.state); });
}

std::string NodeTimeline::Changes() const {
  std::string lines;
  std::map<std::string, std::string> last;
  for (const auto& [number, version] : versions_) {
    const std::string now = absl::StrCat(version.state.empty() ? "no state" : version.state,
                                         version.unschedulable ? ", cordoned" : "", version.deleted ? ", deleted" : "");
    std::string& before = last[version.name];
    if (now != before) absl::StrAppend(&lines, number, " ", version.name, ": ", now, "\n");
    before = now;
  }
  return lines;
}

std::uint64_t LatestVersion(const std::map<std::string, NodeVersion>& nodes) {
  std::uint64_t latest = 0;
  for (const auto& [_, node] : nodes) latest = std::max(latest, node.version);
  return latest;
}

std::map<std::string, NodeVersion> NodeTimeline::Latest() const {
  std::map<std::string, NodeVersion> latest;
  for (const auto& [_, version] : versions_) {
    if (version.deleted) {
      latest.erase(version.name);
    } else {
      latest.insert_or_assign(version.name, version);
    }
  }
  return latest;
}

}  // namespace driverupgrade::e2e
