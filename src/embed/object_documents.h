// Functions that parse the documents of a host, which are lists and lines of watches, and pass their objects to its
// store.
#ifndef DRIVERUPGRADE_SRC_EMBED_OBJECT_DOCUMENTS_H_
#define DRIVERUPGRADE_SRC_EMBED_OBJECT_DOCUMENTS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "read/object_store.h"

namespace driverupgrade::internal {

// Same as in driverupgrade/c/driverupgrade.h.
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

// The number in the store of the one driver that a host has.
inline constexpr std::size_t kHostDriver = 0;

// Takes a list of all objects of the kind. For a kind of DRA, a Status with code 404 is also accepted: a server returns
// it if it does not serve the kind. Errors: InvalidArgument if the text is not such a list or more pages follow; the
// store is then unchanged.
absl::Status PutList(ObjectStore& store, ObjectKind kind, std::string_view list);

// Takes a line of the watch that follows the list. Errors: InvalidArgument if the text is not such a line, if the watch
// has ended, or if the kind has not been listed; the store is then unchanged.
absl::Status PutWatchLine(ObjectStore& store, ObjectKind kind, std::string_view line);

// Takes a list of all pods on the node; see ObjectStore::PutPods. Errors: InvalidArgument if the text is not a list of
// pods or has no version.
absl::StatusOr<bool> PutPodList(ObjectStore& store, const std::string& node, std::string_view list);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_EMBED_OBJECT_DOCUMENTS_H_
