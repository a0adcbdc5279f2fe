#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 reports a false positive in <regex> in builds with sanitizers (GCC bug 105562).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "testing/fake_cluster_expressions.h"

#include <algorithm>
#include <regex>

namespace driverupgrade::testing::internal {

bool MatchesAny(const std::vector<std::string>& expressions, const std::vector<std::string>& names) {
  return std::any_of(expressions.begin(), expressions.end(), [&](const std::string& expression) {
    try {
      const std::regex regex(expression);
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& name) { return std::regex_search(name, regex); });
    } catch (const std::regex_error&) {
      return false;
    }
  });
}

}  // namespace driverupgrade::testing::internal
