// Matches the regular expressions in the filters of a NodeMaintenance.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_EXPRESSIONS_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_EXPRESSIONS_H_

#include <string>
#include <vector>

namespace driverupgrade::testing::internal {

// Returns true if at least one expression matches a part of at least one name. An invalid expression matches nothing
// (M6).
bool MatchesAny(const std::vector<std::string>& expressions, const std::vector<std::string>& names);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_EXPRESSIONS_H_
