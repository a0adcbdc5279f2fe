// Failures of cpprestsdk as statuses of HttpTransport. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_STATUS_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace driverupgrade {

// `subject` is what was attempted and where; `code` and `text` are the library's; `sent` says that a request
// may have reached the server; `refusal` is why a certificate was refused last.
absl::Status StatusOfCpprestFailure(std::string_view subject, int code, std::string_view text, bool sent,
                                    std::string_view refusal);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_CPPREST_STATUS_H_
