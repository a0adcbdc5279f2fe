#include "driverupgrade/pod_manager.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "decide/marks_of_view.h"
#include "fmt/format.h"
#include "model/node_marks.h"
#include "model/unreadable.h"

namespace driverupgrade {
namespace {

// Searches linearly, because a driver has only a few DaemonSets, and a lookup in the map would have to create a string.
const DriverDaemonSet* OwnerOf(const internal::DriverPodMarks& marks, const DriverFacts& driver) {
  const auto found = std::find_if(driver.daemon_sets.begin(), driver.daemon_sets.end(),
                                  [&](const auto& daemon_set) { return marks.owner_uid == daemon_set.first; });
  return found == driver.daemon_sets.end() ? nullptr : &found->second;
}

enum class Revision { kCurrent, kOld, kOrphan, kUnknown };

// Compares the revision of a driver pod with the target revision (§5.1, R13, R14).
Revision RevisionOf(const Pod& pod, const internal::DriverPodMarks& marks, const DriverFacts& driver,
                    std::string_view kept_revisions, DriverPods& result) {
  const auto unknown = [&](FindingCode code, std::string why) {
    result.findings.push_back({.code = code, .node = pod.node_name, .message = why});
    result.why_unknown = std::move(why);
    return Revision::kUnknown;
  };
  if (marks.unreadable) {
    return unknown(FindingCode::kUnreadable, internal::CannotBeRead("driver pod", pod));
  }
  const bool is_kept = !kept_revisions.empty() && internal::IsListed(marks.revision, kept_revisions);
  if (is_kept) result.wanted_revision = std::string(marks.revision);
  if (!marks.has_owners) return is_kept ? Revision::kCurrent : Revision::kOrphan;
  const DriverDaemonSet* owner = OwnerOf(marks, driver);
  if (owner == nullptr) {
    return unknown(FindingCode::kDaemonSetMissing,
                   fmt::format("driver pod {} is not owned by a DaemonSet of the driver", pod.ref.ToString()));
  }
  if (!owner->wanted_revision) {
    result.why_unknown = owner->why_unknown;  // reported once for the DaemonSet instead of for every node
    return Revision::kUnknown;
  }
  if (is_kept) return Revision::kCurrent;
  result.wanted_revision = *owner->wanted_revision;
  if (marks.revision.empty()) {
    return unknown(FindingCode::kPodWithoutRevision,
                   fmt::format("driver pod {} has no label controller-revision-hash", pod.ref.ToString()));
  }
  return marks.revision == *owner->wanted_revision ? Revision::kCurrent : Revision::kOld;
}

// Returns the hash of the revision from its label or, for very old objects without this label, from its name (R4, R13).
// Returns an empty string if neither contains a hash.
std::string HashOf(const ControllerRevision& revision, const DaemonSet& daemon_set) {
  const auto label = revision.labels.find("controller-revision-hash");
  if (label != revision.labels.end() && !label->second.empty()) return label->second;
  const std::string prefix = daemon_set.name + "-";
  return revision.name.starts_with(prefix) ? revision.name.substr(prefix.size()) : std::string();
}

// Returns the revisions with the highest number. If any revision has the current template of the DaemonSet, considers
// only such revisions. Numbers alone can mislead: a controller that has not seen the latest revision may give the next
// revision the same number or a lower one (kubernetes#80698).
std::vector<const ControllerRevision*> Newest(const DaemonSet& daemon_set,
                                              const std::vector<ControllerRevision>& revisions) {
  const auto rank = [&](const ControllerRevision& revision) {
    const std::uint64_t digest = revision.template_digest.value;
    const bool is_wanted = digest != 0 && digest == daemon_set.template_digest.value;
    return std::pair(is_wanted, revision.revision);
  };
  std::vector<const ControllerRevision*> newest;
  for (const ControllerRevision& revision : revisions) {
    if (revision.owner_uid != daemon_set.uid) continue;
    if (!newest.empty() && rank(revision) > rank(*newest[0])) newest.clear();
    if (newest.empty() || rank(revision) == rank(*newest[0])) newest.push_back(&revision);
  }
  return newest;
}

// Returns true if the deletion of the pod was accepted. After a rollback, such a pod may seem up to date until the
// watch reports its deletion.
bool WasDeleted(const NodeView& view, const Pod& pod) {
  const auto attempt = view.attempts.pods.find(pod.ref.uid);
  return attempt != view.attempts.pods.end() && attempt->second.outcome == Outcome::kApplied;
}

}  // namespace

DriverPods PodManager::Assess(const NodeView& view, const DriverFacts& driver, std::string_view restart_pod,
                              int restart_count_max, std::string_view kept_revisions) const {
  DriverPods result{.none = view.driver_pods.empty()};
  bool all_ready = true;
  const internal::DriverPodsOfView all_marks(view);
  for (std::size_t i = 0; i < view.driver_pods.size(); ++i) {
    const Pod& pod = view.driver_pods[i];
    const internal::DriverPodMarks& marks = all_marks[i];
    const Revision revision = RevisionOf(pod, marks, driver, kept_revisions, result);
    result.unknown |= revision == Revision::kUnknown;
    result.out_of_date |= revision == Revision::kOld;
    result.orphaned |= !marks.has_owners;
    if (marks.terminating || (revision == Revision::kCurrent && WasDeleted(view, pod))) {
      result.terminating = &pod;
    } else if (revision == Revision::kOld || revision == Revision::kOrphan ||
               (revision == Revision::kCurrent && !restart_pod.empty() && pod.ref.uid == restart_pod)) {
      result.to_restart.push_back(&pod);
    } else if (revision == Revision::kCurrent && !marks.ready) {
      result.not_ready = &pod;
      if (marks.restarts_unready > restart_count_max) result.failing = &pod;
    }
    all_ready &= marks.ready;
  }
  result.ready = result.InSync() && all_ready;
  return result;
}

std::vector<const Pod*> PodManager::AwaitedPods(const std::vector<Pod>& pods,
                                                const WaitForCompletionPolicy& policy) const {
  std::vector<const Pod*> awaited;
  for (const Pod& pod : pods) {
    if (IsDaemonSetPod(pod) || pod.mirror) continue;  // such pods never finish
    const bool at_work = pod.phase == PodPhase::kRunning || pod.phase == PodPhase::kPending;
    if (at_work && policy.pod_selector.Matches(pod.labels)) awaited.push_back(&pod);
  }
  return awaited;
}

bool PodManager::UsesDriver(const Pod& pod, const NodeView& view, const PodDeletionPolicy& policy) const {
  const bool selected = !policy.pod_selector.empty() && policy.pod_selector.Matches(pod.labels);
  return selected || view.pods_using_driver.contains(pod.ref.uid);
}

PodSelection PodManager::SelectForDeletion(const NodeView& view, const PodDeletionPolicy& policy,
                                           const DrainManager& drains) const {
  std::vector<const Pod*> using_driver;
  if (view.pods) {
    for (const Pod& pod : *view.pods) {
      if (UsesDriver(pod, view, policy)) using_driver.push_back(&pod);
    }
  }
  return drains.Classify(using_driver, policy.force, policy.delete_empty_dir);
}

const ControllerRevision* FindRevision(const DaemonSet& daemon_set, const std::vector<ControllerRevision>& revisions,
                                       std::string_view hash) {
  const auto found = std::find_if(revisions.begin(), revisions.end(), [&](const ControllerRevision& revision) {
    return revision.owner_uid == daemon_set.uid && HashOf(revision, daemon_set) == hash;
  });
  return found == revisions.end() ? nullptr : &*found;
}

DriverDaemonSet WantedRevision(const DaemonSet& daemon_set, const std::vector<ControllerRevision>& revisions) {
  DriverDaemonSet result{.daemon_set = daemon_set};
  for (const ControllerRevision& revision : revisions) {
    if (revision.owner_uid == daemon_set.uid) result.revisions.insert(HashOf(revision, daemon_set));
  }
  const std::string name = fmt::format("DaemonSet {}/{}", daemon_set.ns, daemon_set.name);
  if (internal::IsUnreadable(daemon_set)) {
    result.why_unknown = internal::CannotBeRead("DaemonSet", daemon_set);
    return result;
  }
  // An unreadable revision without a known owner may be the newest revision of any DaemonSet.
  const auto unreadable = std::find_if(revisions.begin(), revisions.end(), [&](const ControllerRevision& revision) {
    return internal::IsUnreadable(revision) && (revision.owner_uid.empty() || revision.owner_uid == daemon_set.uid);
  });
  if (unreadable != revisions.end()) {
    result.why_unknown = fmt::format("{}: {}", name, internal::CannotBeRead("ControllerRevision", *unreadable));
    return result;
  }
  if (daemon_set.observed_generation < daemon_set.generation) {
    result.why_unknown = fmt::format("{}: its controller has not seen generation {} yet, only {}", name,
                                     daemon_set.generation, daemon_set.observed_generation);
    return result;
  }
  const std::vector<const ControllerRevision*> newest = Newest(daemon_set, revisions);
  if (newest.empty()) {
    result.why_unknown = fmt::format("{} owns no ControllerRevision", name);
    return result;
  }
  if (newest.size() > 1) {
    result.why_unknown = fmt::format(
        "{}: its ControllerRevisions {} and {} both have number {}; its controller corrects that when it next syncs "
        "the DaemonSet",
        name, newest[0]->name, newest[1]->name, newest[0]->revision);
    return result;
  }
  if (std::string hash = HashOf(*newest[0], daemon_set); !hash.empty()) {
    result.wanted_revision = std::move(hash);
  } else {
    result.why_unknown =
        fmt::format("ControllerRevision {}/{} of {} has no hash", newest[0]->ns, newest[0]->name, name);
  }
  return result;
}

}  // namespace driverupgrade
