// Verbs for the changes that administrators would otherwise make manually: computes patches from the verb and the
// cluster.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "upgradectl/request.h"

namespace upgradectl {

/// A merge patch. The server refuses it if the object has changed since it was read, or is another object.
struct Patch {
  /// "/api/v1/nodes/gpu-7".
  std::string path = {};
  std::string body = {};
  /// Description of the change for the user; printable.
  std::string line = {};
  /// After the patch, the policy must have this field with this value; empty if nothing must be checked. A schema that
  /// does not know a field drops it silently.
  std::string expected_field = {};
};

struct Change {
  std::vector<Patch> patches = {};
  /// Changes that have already been made; printable.
  std::vector<std::string> notes = {};
};

/// Approves a stage at the revision that is being rolled out. Returns FailedPrecondition if the policy has no such
/// stage. If the approval already existed before a halt, withdraws it first, because it does not lift the halt.
[[nodiscard]] absl::StatusOr<Change> Approve(const Request& request, const std::string& stage);

/// `verb`: pause, resume, skip, unskip, retry, request or release. Refuses harmful changes with FailedPrecondition and
/// a possible alternative, and then changes no other node either. Returns NotFound if a node is not part of the
/// rollout, or if no custom resource contains the policy.
[[nodiscard]] absl::StatusOr<Change> ChangeOf(std::string_view verb, const Request& request,
                                              const std::vector<std::string>& nodes);

/// Checks that `answer`, the object now on the server, is the result that the patch requested.
[[nodiscard]] absl::Status CheckAnswer(const Patch& patch, const PolicyResource& resource, std::string_view answer);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_
