// Forms the boundary of the C interface: converts a function's result, or its exception, to a code and a string.
#ifndef DRIVERUPGRADE_SRC_C_GUARD_H_
#define DRIVERUPGRADE_SRC_C_GUARD_H_

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "driverupgrade/c/driverupgrade.h"

namespace driverupgrade::internal {

inline constexpr auto kNoMemory = static_cast<du_code>(absl::StatusCode::kResourceExhausted);
inline constexpr auto kDefect = static_cast<du_code>(absl::StatusCode::kInternal);

inline du_code Give(absl::StatusCode code, std::string_view text, du_buf& out) noexcept {
  auto* data = static_cast<char*>(du_alloc(text.size() + 1));
  if (data == nullptr) return kNoMemory;
  std::copy(text.begin(), text.end(), data);
  data[text.size()] = '\0';
  out = {.data = data, .size = text.size()};
  return static_cast<du_code>(code);
}

inline bool IsNone(const du_str& text) { return text.data == nullptr && text.size > 0; }

inline std::string_view View(const du_str& text) { return {text.data, text.size}; }

// Stores in `out` the value or the error that `answer` returns. Converts an exception to an error.
template <typename F>
du_code Guard(du_buf* out, std::initializer_list<du_str> documents, F answer) noexcept {
  if (out == nullptr) return static_cast<du_code>(absl::StatusCode::kInvalidArgument);
  if (out->data != nullptr || out->size != 0) return static_cast<du_code>(absl::StatusCode::kInvalidArgument);
  try {
    if (std::any_of(documents.begin(), documents.end(), IsNone)) {
      return Give(absl::StatusCode::kInvalidArgument, "a document has a size, but its data pointer is null", *out);
    }
    const absl::StatusOr<std::string> text = answer();
    return text.ok() ? Give(absl::StatusCode::kOk, *text, *out)
                     : Give(text.status().code(), Message(text.status()), *out);
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::exception& e) {
    Give(absl::StatusCode::kInternal, e.what(), *out);
    return kDefect;
  } catch (...) {
    return kDefect;
  }
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_C_GUARD_H_
