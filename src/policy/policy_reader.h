// Reads a policy from a document of any format.
#ifndef DRIVERUPGRADE_SRC_POLICY_POLICY_READER_H_
#define DRIVERUPGRADE_SRC_POLICY_POLICY_READER_H_

#include "absl/status/statusor.h"
#include "driverupgrade/policy_codec.h"
#include "policy/document.h"

namespace driverupgrade::internal {

// Reads a policy from a document. `document`: the document, or the error that occurred while it was read. `zones`: same
// as for ParseUpgradePolicyJson. Errors: same as for ParseUpgradePolicy.
[[nodiscard]] absl::StatusOr<UpgradePolicy> ReadUpgradePolicy(const absl::StatusOr<DocumentValue>& document,
                                                              const PolicyDefaults& defaults,
                                                              const TimeZoneLoader& zones);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_POLICY_READER_H_
