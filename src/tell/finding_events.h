// The Events about what keeps nodes from moving: findings, and gates that somebody has to act on.
#ifndef DRIVERUPGRADE_SRC_TELL_FINDING_EVENTS_H_
#define DRIVERUPGRADE_SRC_TELL_FINDING_EVENTS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

// Decides what is news. Not thread-safe.
class FindingEvents {
 public:
  // `own_pod`: bears what is about no node; without it that has no Event.
  FindingEvents(const DriverIdentity& identity, std::optional<PodRef> own_pod);

  // Every plan, in order. Returns what is new in it, or has changed, or still stands long after it was told last.
  // `uid_of` gives a node's UID, empty if there is no such node.
  std::vector<RecordEventParams> Follow(const Plan& plan,
                                        const std::function<std::string(const std::string& node)>& uid_of,
                                        absl::Time now);
  // When the first of those that stand has to be told again; nullopt if none does.
  std::optional<absl::Time> NextReminder() const;

 private:
  using FindingKey = std::tuple<FindingCode, std::string, std::string>;
  struct Told {
    std::string message = {};
    absl::Time at = absl::InfinitePast();
  };

  std::optional<RecordEventParams> EventOf(const Finding& finding) const;
  void FollowFindings(const Plan& plan, absl::Time now, std::vector<RecordEventParams>& news);
  void FollowGates(const Plan& plan, absl::Time now, std::vector<RecordEventParams>& news);

  const std::string reason_;
  const std::optional<PodRef> own_pod_;
  std::map<FindingKey, absl::Time> findings_;  // those of the last plan, and when they were told
  std::map<std::string, Told> gates_;          // by node
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_TELL_FINDING_EVENTS_H_
