// Reads a small file whole, with a bound. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_READ_FILE_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_READ_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace driverupgrade {

// The content of a file of at most `size_max` bytes. The texts of errors give the reason only, so that the
// caller can say which document named the file. Errors: NotFound, PermissionDenied, InvalidArgument (too
// long, or a folder), Unavailable (anything else).
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t size_max);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_READ_FILE_H_
