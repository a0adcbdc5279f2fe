/// Where the grants are kept that let the budgets hold although two replicas believe that they lead, or one crashes with
/// a write under way (ADR 0005).
///
/// Defines AdmissionLedgerOptions.
///
///     EngineOptions options{.ledger = AdmissionLedgerOptions{.ns = "gpu-operator", .name = "driver-upgrades"}};
///
/// The grants are one entry of a ConfigMap, `<domain>_<driver>`; drivers, and owners of one driver's nodes, may share
/// one. Its other entries are kept. A ConfigMap that is deleted is made anew with the grants that are remembered;
/// deleting it, or lines from it, while two replicas lead or a write is under way takes the guarantee away for the
/// nodes concerned. A value.
#ifndef DRIVERUPGRADE_ADMISSION_LEDGER_H_
#define DRIVERUPGRADE_ADMISSION_LEDGER_H_

#include <cstddef>
#include <string>

namespace driverupgrade {

struct AdmissionLedgerOptions {
  /// Of the ConfigMap. The same for all replicas.
  std::string ns = {};
  std::string name = {};
  /// Whose nodes the grants are about, if several engines share a driver's nodes: each owner has an entry of its own,
  /// `<domain>_<driver>_<owner>`, and no other driver may be named `<driver>_<owner>`. A DNS subdomain, as Kubernetes
  /// names objects. Empty: one engine has all nodes.
  std::string owner = {};
  /// No more grants than that are made; further nodes wait. A grant has about 50 bytes, an object 1 MiB at most.
  std::size_t grants_max = 5000;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_ADMISSION_LEDGER_H_
