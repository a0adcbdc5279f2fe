// Reads the UIDs of the objects in a list, and ignores all other data.
#ifndef DRIVERUPGRADE_SRC_WIRE_UID_LIST_H_
#define DRIVERUPGRADE_SRC_WIRE_UID_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {

struct UidList {
  std::vector<std::string> uids = {};
  // Not empty if more pages follow.
  std::string continue_token = {};
};

// Reads a NodeList, or a PartialObjectMetadataList of nodes. Errors: InvalidArgument for any other text, and for an
// item without a UID, which could be any object.
absl::StatusOr<UidList> ParseNodeUids(std::string_view json);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_UID_LIST_H_
