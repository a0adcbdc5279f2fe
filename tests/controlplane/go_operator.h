// Runs a Go operator for the nodes of one world, as the user `operator`. The operator is built on the Go module
// (go/examples) or on the Go library (bench/peer).
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
  // kVendor is the operator that rolls out in stages and runs until it is stopped. It shares its Lease and its ledger
  // with the native operator.
  enum class Of { kModule, kLibrary, kVendor };

  // `policy` is the upgradePolicy section in YAML. The program is built by scripts/e2e.sh, and an environment variable
  // contains its path (go_operator.cc). Throws std::runtime_error if the variable is not set, or if the program does
  // not exist.
  GoOperator(const World& world, std::string_view policy, Of of = Of::kModule);

  // Starts the program. Programs other than kVendor exit once every node has the target driver, with exit code 0 unless
  // a node has failed. `more_flags` come last. If a flag is given twice, its last value counts.
  std::unique_ptr<Process> Start(const std::vector<std::string>& more_flags = {}) const;

  std::filesystem::path policy_file() const { return folder_ / "policy.yaml"; }
  // File with the program's output.
  std::filesystem::path log_file() const { return folder_ / "log"; }

 private:
  const World& world_;
  const Of of_;
  std::filesystem::path program_;
  std::filesystem::path folder_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_OPERATOR_H_
