// Runs an operator in Go as user `operator` on one world: one of the Go module (go/examples), or that of the Go library (bench/peer).
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_OPERATOR_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_OPERATOR_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "process.h"
#include "world.h"

namespace driverupgrade::e2e {

class GoOperator {
 public:
  // kVendor: the operator that rolls out in stages. It runs until it is stopped. Its Lease and its ledger
  // are those of the native operator.
  enum class Of { kModule, kLibrary, kVendor };

  // `policy` is the upgradePolicy section in YAML. The program is that of the environment, which scripts/e2e.sh has built;
  // throws std::runtime_error if the environment names none.
  GoOperator(const World& world, std::string_view policy, Of of = Of::kModule);

  // It ends once every node has the wanted driver, with exit code 0 unless one has failed. Of a flag that is given twice the
  // later one counts, and `more_flags` come last.
  std::unique_ptr<Process> Start(const std::vector<std::string>& more_flags = {}) const;

  std::filesystem::path policy_file() const { return folder_ / "policy.yaml"; }
  // What it says.
  std::filesystem::path log_file() const { return folder_ / "log"; }

 private:
  const World& world_;
  const Of of_;
  std::filesystem::path program_;
  std::filesystem::path folder_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_OPERATOR_H_
