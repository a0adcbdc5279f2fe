// Tracks how long a node has had its gate, for the annotation that shows the gate
// (DriverIdentity::WaitingForAnnotation). The marks on the node show only when the node entered its state.
#ifndef DRIVERUPGRADE_SRC_DECIDE_SHOWN_WAIT_H_
#define DRIVERUPGRADE_SRC_DECIDE_SHOWN_WAIT_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "decide/verdict.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {

// The gate of one node, and the time since which the node has had it. After a restart of the process, the gate counts
// as new at the first evaluation, and an existing annotation counts as written at that time.
class ShownWait {
 public:
  // Records the marks that the next evaluation of the node uses.
  void Read(const NodeMarks& marks, absl::Time now);
  // Records the verdict of that evaluation.
  void Judged(const Verdict& verdict, absl::Time now);

  // Returns the time since which the node has had a gate with this reason in `state`; `now` if it does not have one.
  absl::Time HeldSince(UpgradeState state, GateReason reason, absl::Time now) const;
  // Returns the time at which the annotation may be changed to `gate`, the current gate in `state`. If `gate` is
  // nullopt, returns the time at which the annotation may be removed.
  absl::Time DueAt(UpgradeState state, const std::optional<Gate>& gate, absl::Time now) const;

 private:
  struct Held {
    std::optional<GateReason> reason = std::nullopt;
    absl::Time since = absl::InfinitePast();
  };

  UpgradeState state_ = UpgradeState::kUnknown;
  // The node's gate, except for gates that nodes often have only briefly.
  Held held_ = {};
  // A gate that nodes often have only briefly. It does not interrupt `held_`.
  Held passing_ = {};
  // Text of the annotation at the last read.
  std::optional<std::string> text_ = std::nullopt;
  absl::Time changed_ = absl::InfinitePast();
};

// Returns the text of the annotation for `gate`.
std::string WaitText(const Gate& gate);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_SHOWN_WAIT_H_
