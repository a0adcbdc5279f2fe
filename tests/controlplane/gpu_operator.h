// Runs the program under test, examples/operators/gpu, for the nodes of one world, as the user `operator`.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_GPU_OPERATOR_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_GPU_OPERATOR_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "process.h"
#include "world.h"

namespace driverupgrade::e2e {

struct OperatorResult {
  int exit_code = 0;
  std::string out;
  std::string err;
  double seconds = 0;

  std::string output() const { return out + err; }
};

class GpuOperator {
 public:
  // `policy` is the upgradePolicy section in YAML.
  GpuOperator(const World& world, std::string_view policy);

  // Uses a kubeconfig other than the operator's, for failure tests.
  void set_kubeconfig(std::filesystem::path kubeconfig) { kubeconfig_ = std::move(kubeconfig); }

  // Sets the program's --timeout.
  void set_timeout(std::chrono::seconds timeout) { timeout_ = timeout; }

  // Sets options in addition to the usual ones.
  void set_more_options(std::vector<std::string> options) { more_options_ = std::move(options); }

  // Starts the program with the option `mode`: --until-done or --once. The program's output is in out_file() and
  // err_file().
  std::unique_ptr<Process> Start(const std::string& mode = "--until-done") const;

  // Runs the program until it exits. Throws std::runtime_error if it is still running well after its own --timeout.
  OperatorResult Run(const std::string& mode = "--until-done") const;

  // Waits until a started process exits, and calls `meanwhile` repeatedly until then.
  OperatorResult Finish(
      Process& process, const std::function<void()>& meanwhile = [] {}) const;

  std::filesystem::path out_file() const { return folder_ / "out"; }
  std::filesystem::path err_file() const { return folder_ / "err"; }

 private:
  const World& world_;
  std::filesystem::path folder_;
  std::filesystem::path kubeconfig_;
  std::chrono::seconds timeout_{120};
  std::vector<std::string> more_options_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_GPU_OPERATOR_H_
