#include "observe/gang_interruptions.h"

#include <algorithm>
#include <utility>

#include "decide/rollout/gangs.h"
#include "fmt/format.h"

namespace driverupgrade::internal {

void GangInterruptions::SetRevision(const std::string& revision) {
  if (revision.empty() || revision == revision_) return;
  revision_ = revision;
  gangs_.clear();
}

std::string GangInterruptions::CauseOf(const std::string& node, const std::string& unit) {
  return unit.empty() ? fmt::format("Node/{}", node) : unit;
}

void GangInterruptions::KeepCauses(const std::set<std::string>& in_progress) {
  std::erase_if(interrupted_by_, [&](const auto& cause) { return !in_progress.contains(cause.first); });
}

void GangInterruptions::Begin(const NodePlan& plan, const NodeView& view, const std::string& cause) {
  sent_.erase(plan.node);
  if (!view.pods) return;
  std::set<std::string> uids;
  for (const auto* pods : {&plan.evict, &plan.remove}) {
    for (const PodRef& pod : *pods) uids.insert(pod.uid);
  }
  Sent sent{.cause = cause};
  for (const Pod& pod : *view.pods) {
    if (!uids.contains(pod.ref.uid) || IsFinished(pod)) continue;
    std::vector<std::string> gangs = GangsOn(view.node, {&pod});
    if (!gangs.empty()) sent.gangs.emplace(pod.ref.uid, std::move(gangs));
  }
  if (!sent.gangs.empty()) sent_.emplace(plan.node, std::move(sent));
}

int GangInterruptions::End(const std::string& node, const std::vector<std::string>& stopped) {
  const auto sent = sent_.extract(node);
  if (sent.empty()) return 0;
  int count = 0;
  for (const std::string& uid : stopped) {
    const auto gangs = sent.mapped().gangs.find(uid);
    if (gangs == sent.mapped().gangs.end()) continue;
    for (const std::string& gang : gangs->second) {
      const bool is_first = interrupted_by_[sent.mapped().cause].insert(gang).second;
      count += is_first;
      gangs_[gang] += is_first;
    }
  }
  return count;
}

GangsInterrupted GangInterruptions::counts() const {
  GangsInterrupted counts{.revision = revision_};
  for (const auto& [gang, interruptions] : gangs_) ++counts.by_interruptions[interruptions];
  return counts;
}

}  // namespace driverupgrade::internal
