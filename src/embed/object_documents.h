// Parses a host's documents, which are lists and watch lines, and passes their objects to the host's store.
#ifndef DRIVERUPGRADE_SRC_EMBED_OBJECT_DOCUMENTS_H_
#define DRIVERUPGRADE_SRC_EMBED_OBJECT_DOCUMENTS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "read/object_store.h"

namespace driverupgrade::internal {

// The values are the same as in driverupgrade/c/driverupgrade.h.
enum class ObjectKind {
  kNode,
  kDriverPod,
  kDaemonSet,
  kControllerRevision,
  kNodeMaintenance,
  kDeviceTaintRule,
  kResourceClaim,
  kResourceSlice
};

// Index of the host's only driver in the store.
inline constexpr std::size_t kHostDriver = 0;

// Accepts a list of all objects of the kind. For a DRA kind, also accepts a Status with code 404, which means that the
// server does not serve the kind. Errors: InvalidArgument, with the store unchanged, if the text is not such a list or
// if more pages follow.
absl::Status PutList(ObjectStore& store, ObjectKind kind, std::string_view list);

// Accepts a line of the watch that follows the list. Errors: InvalidArgument, with the store unchanged, if the text is
// not such a line, if the watch has ended, or if the kind has not been listed.
absl::Status PutWatchLine(ObjectStore& store, ObjectKind kind, std::string_view line);

// Accepts a list of all pods on the node; see ObjectStore::PutPods. Errors: InvalidArgument if the text is not a list
// of pods or has no version.
absl::StatusOr<bool> PutPodList(ObjectStore& store, const std::string& node, std::string_view list);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_EMBED_OBJECT_DOCUMENTS_H_
