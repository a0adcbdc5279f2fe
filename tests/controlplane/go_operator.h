// Runs the example operator of the Go module, go/examples/operator, as user `operator` on one world.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_OPERATOR_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_OPERATOR_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "process.h"
#include "world.h"

namespace driverupgrade::e2e {

class GoOperator {
 public:
  // `policy` is the upgradePolicy section in YAML. The program is that of the environment, which scripts/e2e.sh has built;
  // throws std::runtime_error if the environment names none.
  GoOperator(const World& world, std::string_view policy);

  // It ends once every node has the wanted driver, with exit code 0 unless one has failed.
  std::unique_ptr<Process> Start() const;

  // What it has said until now.
  std::string Log() const;

 private:
  const World& world_;
  std::filesystem::path program_;
  std::filesystem::path folder_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_GO_OPERATOR_H_
