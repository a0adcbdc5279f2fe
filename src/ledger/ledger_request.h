// Defines ledger requests as values. The engine that drives the ledger sends them.
#ifndef DRIVERUPGRADE_SRC_LEDGER_LEDGER_REQUEST_H_
#define DRIVERUPGRADE_SRC_LEDGER_LEDGER_REQUEST_H_

#include <variant>

#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"

namespace driverupgrade::internal {

// Reads, creates or patches the ConfigMap, or lists all nodes. Reads must be consistent, so their responses must not
// come from a cache.
using LedgerRequest = std::variant<GetConfigMapParams, ConfigMap, PatchConfigMapParams, ListNodesParams>;

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_LEDGER_LEDGER_REQUEST_H_
