// Replaces testing/fake_cluster_expressions.cc: a simulation has no maintenance operator, and regular expressions need
// locales.
#include "testing/fake_cluster_expressions.h"

namespace driverupgrade::testing::internal {

bool MatchesAny(const std::vector<std::string>&, const std::vector<std::string>&) { return false; }

}  // namespace driverupgrade::testing::internal
