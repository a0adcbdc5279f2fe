// What an administrator writes by hand, as verbs: from the verb and the cluster to patches.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "upgradectl/request.h"

namespace upgradectl {

/// One merge patch, which the server refuses if the object is another than was read.
struct Patch {
  /// "/api/v1/nodes/gpu-7".
  std::string path = {};
  std::string body = {};
  /// What changes, for a person; printable.
  std::string line = {};
  /// The policy has to have this field afterwards, with this value; empty: nothing to check. A schema that does not know a
  /// field drops it without a word.
  std::string expected_field = {};
};

struct Change {
  std::vector<Patch> patches = {};
  /// What is so already; printable.
  std::vector<std::string> notes = {};
};

/// `approve`: of this stage, at the revision that is being rolled out. FailedPrecondition for a policy without such a
/// stage; an approval that was there before a halt is taken back first, as it does not lift it.
[[nodiscard]] absl::StatusOr<Change> Approve(const Request& request, const std::string& stage);

/// `verb`: pause, resume, skip, unskip, retry, request or release. Nothing that would harm: FailedPrecondition then,
/// with what is possible instead; nothing is written for the other nodes either. NotFound for a node that is none of
/// the rollout's, or a policy that is in no custom resource.
[[nodiscard]] absl::StatusOr<Change> ChangeOf(std::string_view verb, const Request& request,
                                              const std::vector<std::string>& nodes);

/// Whether `answer`, the object as the server has it now, is what the patch wanted.
[[nodiscard]] absl::Status CheckAnswer(const Patch& patch, const PolicyResource& resource, std::string_view answer);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_CHANGE_H_
