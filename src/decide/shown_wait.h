// Remembers since when a node has had its gate, for the annotation that shows the gate
// (DriverIdentity::WaitingForAnnotation). The node itself shows only since when it is in its state.
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

// A new process starts with an empty memory: it counts the gate from its first judgement, and treats an annotation that
// it finds as written just then.
class ShownWait {
 public:
  // The marks by which the node is judged.
  void Read(const NodeMarks& marks, absl::Time now);
  // The node was judged.
  void Judged(const Verdict& verdict, absl::Time now);

  // Returns when the annotation may be changed to `gate`, the present gate in `state`, or be removed without a gate.
  absl::Time DueAt(UpgradeState state, const std::optional<Gate>& gate, absl::Time now) const;

 private:
  struct Held {
    std::optional<GateReason> reason = std::nullopt;
    absl::Time since = absl::InfinitePast();
  };

  UpgradeState state_ = UpgradeState::kUnknown;
  // The node's gate, apart from gates that it often has for a moment.
  Held held_ = {};
  // Such a gate, which does not interrupt the other one.
  Held passing_ = {};
  // The annotation as it was last read.
  std::optional<std::string> text_ = std::nullopt;
  absl::Time changed_ = absl::InfinitePast();
};

// Returns the annotation for `gate`.
std::string WaitText(const Gate& gate);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_SHOWN_WAIT_H_
