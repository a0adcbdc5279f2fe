// Converts cpprestsdk failures to HttpTransport statuses. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_STATUS_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace driverupgrade {

// `subject` is the attempted operation and its target; `code` and `text` come from the library. `sent` is true if a
// request may have reached the server. `refusal` is the reason why a certificate was last refused.
absl::Status StatusOfCpprestFailure(std::string_view subject, int code, std::string_view text, bool sent,
                                    std::string_view refusal);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_STATUS_H_
