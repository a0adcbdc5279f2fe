// Defines helpers for absl::Status that packaged versions of abseil lack.
#ifndef DRIVERUPGRADE_SRC_BASE_STATUS_MACROS_H_
#define DRIVERUPGRADE_SRC_BASE_STATUS_MACROS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace driverupgrade::internal {

/// Returns the message as std::string_view. Debian's absl::string_view is a separate type that fmt and std::string do
/// not accept.
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace driverupgrade::internal

/// Returns the status of `expression` from the calling function unless it is OK. The function must return Status or
/// StatusOr.
#define DRIVERUPGRADE_RETURN_IF_ERROR(expression)                                         \
  do {                                                                                    \
    if (::absl::Status driverupgrade_status = (expression); !driverupgrade_status.ok()) { \
      return driverupgrade_status;                                                        \
    }                                                                                     \
  } while (false)

/// Assigns the value of `expression` to `declaration`. If `expression` is not OK, returns its status from the calling
/// function, which must return Status or StatusOr. Example:
/// `DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, cluster.GetNode(context, {.name = name}));` After `if`, put the
/// macro call in braces. The declaration must not contain a comma: define an alias for such a type first.
#define DRIVERUPGRADE_ASSIGN_OR_RETURN(declaration, expression) \
  DRIVERUPGRADE_ASSIGN_OR_RETURN_IMPL(DRIVERUPGRADE_CONCAT(driverupgrade_result_, __LINE__), declaration, expression)

#define DRIVERUPGRADE_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                                \
  if (!result.ok()) return result.status();                                  \
  declaration = *std::move(result)

#define DRIVERUPGRADE_CONCAT(left, right) DRIVERUPGRADE_CONCAT_IMPL(left, right)
#define DRIVERUPGRADE_CONCAT_IMPL(left, right) left##right

#endif  // DRIVERUPGRADE_SRC_BASE_STATUS_MACROS_H_
