// Derives the scope of views from an embedding operator's options.
#ifndef DRIVERUPGRADE_SRC_READ_VIEW_SCOPE_H_
#define DRIVERUPGRADE_SRC_READ_VIEW_SCOPE_H_

#include <optional>

#include "driverupgrade/snapshot_builder.h"
#include "read/node_views.h"

namespace driverupgrade::internal {

ViewScope ScopeOf(const SnapshotOptions& options, const std::optional<RequestorOptions>& requestor);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_VIEW_SCOPE_H_
