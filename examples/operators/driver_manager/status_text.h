// Helpers for including the message of a status in other messages.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_STATUS_TEXT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_STATUS_TEXT_H_

#include <string_view>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace driver_manager {

/// Returns the message as a std::string_view, because absl::string_view may be a different type.
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

/// Returns a status with the same code and the message "<what>: <message>".
inline absl::Status Named(std::string_view what, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), fmt::format("{}: {}", what, Message(status)));
}

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_STATUS_TEXT_H_
