#include "wire/uid_list.h"

#include <utility>

#include "base/status_macros.h"
#include "driverupgrade/cluster_types.h"
#include "wire/json_document.h"
#include "wire/kubernetes_json_read.h"

namespace driverupgrade::internal {

absl::StatusOr<UidList> ParseNodeUids(std::string_view json) {
  JsonDocument document;
  DRIVERUPGRADE_RETURN_IF_ERROR(document.Parse(json, Wanted<Node>::List()));
  if (!document.root().IsObject()) return absl::InvalidArgumentError("expected an object");
  std::string error;
  const JsonField root(document.root(), error);
  const JsonField kind = root.Member("kind");
  const std::string of = kind.String();
  if (of != "NodeList" && of != "PartialObjectMetadataList")
    kind.Fail("expected a list of nodes, or of their metadata");
  const JsonField metadata = root.Member("metadata");
  UidList list{.continue_token = metadata.Member("continue").String()};
  const JsonField items = root.Member("items");
  items.ForEachItem([&](const JsonField& item) {
    const JsonField of_item = item.Member("metadata");
    const JsonField uid = of_item.Member("uid");
    list.uids.push_back(uid.String());
    if (list.uids.back().empty()) uid.Fail("expected a UID, got nothing");
  });
  if (!error.empty()) return absl::InvalidArgumentError(error);
  return list;
}

}  // namespace driverupgrade::internal
