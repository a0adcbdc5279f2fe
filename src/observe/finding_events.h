// Creates the Events about findings, and about gates that need an administrator.
#ifndef DRIVERUPGRADE_SRC_OBSERVE_FINDING_EVENTS_H_
#define DRIVERUPGRADE_SRC_OBSERVE_FINDING_EVENTS_H_

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

// Decides which findings and gates must be reported as Events. Not thread-safe.
class FindingEvents {
 public:
  // `own_pod`: object of Events that do not concern a single node. If `own_pod` is not set, such Events are dropped.
  FindingEvents(const DriverIdentity& identity, std::optional<PodRef> own_pod);

  // Returns Events for findings and gates that are new, have changed, or are due to be reported again. Must be called
  // with every plan, in order. `uid_of` returns the UID of a node; empty if the node does not exist.
  std::vector<RecordEventParams> Follow(const Plan& plan,
                                        const std::function<std::string(const std::string& node)>& uid_of,
                                        absl::Time now);
  // Returns the time at which the first of the current findings and gates must be reported again; nullopt if there are
  // no findings or gates to report.
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
  std::map<FindingKey, absl::Time> findings_;  // findings of the last plan, with the time of the last report
  std::map<std::string, Told> gates_;          // by node
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_OBSERVE_FINDING_EVENTS_H_
