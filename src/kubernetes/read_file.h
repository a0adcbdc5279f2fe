// Reads a small file completely, up to a size limit. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_READ_FILE_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_READ_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace driverupgrade {

// Returns the content of a file of at most `size_max` bytes. Error messages contain only the reason, so that the caller
// can prefix the name of the document that refers to the file. Errors: NotFound, PermissionDenied, InvalidArgument (too
// long, or a directory), Unavailable (anything else).
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t size_max);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_READ_FILE_H_
