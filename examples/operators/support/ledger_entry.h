/// Several ledgers of one driver in one ConfigMap: for engines that share a driver's nodes.
///
/// Defines LedgerEntry and WithLedgerEntry.
///
///     auto engine = UpgradeEngine::Create(identity, WithLedgerEntry(cluster, identity, "pool-a"), options);
///
/// A ledger writes one entry of its ConfigMap, named after the driver. Of another engine of the same driver that entry
/// would be taken away. A ConfigMap for each would need a right for each: RBAC knows no names that begin with
/// something.
///
/// As thread-safe as the facade behind it.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_LEDGER_ENTRY_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_LEDGER_ENTRY_H_

#include <memory>
#include <string>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"

namespace examples {

/// `<domain>_<driver>`, and `_<owner>` if there is one.
std::string LedgerEntry(const driverupgrade::DriverIdentity& identity, const std::string& owner);

/// `cluster`, in whose ConfigMaps the driver's entry is the owner's; `cluster` itself without an owner.
std::shared_ptr<driverupgrade::ClusterFacade> WithLedgerEntry(std::shared_ptr<driverupgrade::ClusterFacade> cluster,
                                                              const driverupgrade::DriverIdentity& identity,
                                                              const std::string& owner);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_LEDGER_ENTRY_H_
