// Explains one node: its gate, the objects in the cluster that cause the gate, its history, and the commands that help.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_EXPLAIN_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_EXPLAIN_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "report/advice.h"
#include "upgradectl/request.h"
#include "upgradectl/status.h"
#include "upgradectl/table.h"

namespace upgradectl {

struct Section {
  std::string title = {};
  /// Printable.
  std::vector<std::string> lines = {};
};

struct Explanation {
  std::string node = {};
  std::vector<Section> sections = {};
  driverupgrade::internal::Advice help = {};
};

/// `status` must belong to the request. Errors: NotFound if the rollout has no such node.
[[nodiscard]] absl::StatusOr<Explanation> ExplainNode(const Request& request, const RolloutStatus& status,
                                                      std::string_view node);

/// Returns true if the node waits for the pod, or if its upgrade failed because of the pod.
bool IsBlockedBy(const NodeStatus& node, const driverupgrade::Pod& pod);

driverupgrade::internal::Advice HelpFor(const Request& request, const NodeStatus& node);

std::string FormatExplanation(const Explanation& explanation, const Screen& screen);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_EXPLAIN_H_
