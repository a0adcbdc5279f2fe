// Helpers for Status that packaged abseil lacks.
#ifndef DRIVERUPGRADE_SRC_BASE_STATUS_MACROS_H_
#define DRIVERUPGRADE_SRC_BASE_STATUS_MACROS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace driverupgrade::internal {

/// Debian's absl::string_view is a type of its own, which fmt and std::string do not take.
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace driverupgrade::internal

/// Returns from the calling function, which returns Status or StatusOr, unless `expression` is OK.
#define DRIVERUPGRADE_RETURN_IF_ERROR(expression)                                         \
  do {                                                                                    \
    if (::absl::Status driverupgrade_status = (expression); !driverupgrade_status.ok()) { \
      return driverupgrade_status;                                                        \
    }                                                                                     \
  } while (false)

/// `DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, cluster.GetNode(context, {.name = name}));`
/// Needs braces around it after `if`; a comma in the declaration needs parentheses, so name the type first.
#define DRIVERUPGRADE_ASSIGN_OR_RETURN(declaration, expression) \
  DRIVERUPGRADE_ASSIGN_OR_RETURN_IMPL(DRIVERUPGRADE_CONCAT(driverupgrade_result_, __LINE__), declaration, expression)

#define DRIVERUPGRADE_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                                \
  if (!result.ok()) return result.status();                                  \
  declaration = *std::move(result)

#define DRIVERUPGRADE_CONCAT(left, right) DRIVERUPGRADE_CONCAT_IMPL(left, right)
#define DRIVERUPGRADE_CONCAT_IMPL(left, right) left##right

#endif  // DRIVERUPGRADE_SRC_BASE_STATUS_MACROS_H_
