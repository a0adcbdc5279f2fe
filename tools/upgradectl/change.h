// Computes the patches for the verbs that change the cluster, based on the cluster's objects.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "upgradectl/request.h"

namespace upgradectl {

/// A merge patch. The server refuses the patch if the object has changed or was replaced since it was read.
struct Patch {
  /// For example "/api/v1/nodes/gpu-7".
  std::string path = {};
  std::string body = {};
  /// Description of the change for the user; printable.
  std::string line = {};
  /// Field that the policy must have after the patch; empty if no check is needed. The check is necessary because a
  /// schema silently drops unknown fields.
  std::string expected_field = {};
};

struct Change {
  std::vector<Patch> patches = {};
  /// Notes for the user, for example that a change has already been made; printable.
  std::vector<std::string> notes = {};
};

/// Approves a stage at the revision that is being rolled out. Returns FailedPrecondition if the policy has no such
/// stage. Withdraws an approval that already existed before a halt, because such an approval does not lift the halt.
[[nodiscard]] absl::StatusOr<Change> Approve(const Request& request, const std::string& stage);

/// `verb`: pause, resume, skip, unskip, retry, request or allow-load. If one of the changes would be harmful, returns
/// FailedPrecondition with a suggested alternative, and no changes. Returns NotFound if a node is not part of
/// the rollout, or if no custom resource contains the policy.
[[nodiscard]] absl::StatusOr<Change> ChangeOf(std::string_view verb, const Request& request,
                                              const std::vector<std::string>& nodes);

/// Returns an error unless `answer`, the object as the server now stores it, has the field that the patch sets.
[[nodiscard]] absl::Status CheckAnswer(const Patch& patch, const PolicyResource& resource, std::string_view answer);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_
