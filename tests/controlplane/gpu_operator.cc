#include "gpu_operator.h"

#include <stdexcept>

#include "operator_program.h"
#include "support.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kGrace{30};  // time to finish the requests in progress when --timeout expires

std::filesystem::path MakeFolder(const World& world) {
  static int count = 0;
  const std::filesystem::path folder = world.control_plane().folder() / ("gpu-operator-" + std::to_string(++count));
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace

GpuOperator::GpuOperator(const World& world, std::string_view policy)
    : world_(world), folder_(MakeFolder(world)), kubeconfig_(world.control_plane().operator_kubeconfig()) {
  WriteFile(folder_ / "policy.yaml", policy);
}

std::unique_ptr<Process> GpuOperator::Start(const std::string& mode) const {
  ProcessOptions options;
  options.out = out_file();
  options.err = err_file();
  std::vector<std::string> command = {
      FindProgram("gpu_operator").string(),
      "--kubeconfig",
      kubeconfig_.string(),
      "--namespace",
      world_.driver_ns(),
      "--driver-labels",
      "app=driver",
      "--policy",
      (folder_ / "policy.yaml").string(),
      mode,
      "--timeout",
      std::to_string(timeout_.count()) + "s",
      "--events",
      "all",
  };
  const std::vector<std::string> transport = TransportOptions();
  command.insert(command.end(), transport.begin(), transport.end());
  command.insert(command.end(), more_options_.begin(), more_options_.end());
  return std::make_unique<Process>(command, options);
}

OperatorResult GpuOperator::Run(const std::string& mode) const {
  const Stopwatch stopwatch;
  OperatorResult result = Finish(*Start(mode));
  result.seconds = stopwatch.seconds();
  return result;
}

OperatorResult GpuOperator::Finish(Process& process, const std::function<void()>& meanwhile) const {
  const bool has_ended = Eventually(timeout_ + kGrace, [&] {
    meanwhile();
    return !process.IsRunning();
  });
  OperatorResult result;
  result.out = ReadFile(out_file());
  result.err = ReadFile(err_file());
  if (!has_ended) {
    throw std::runtime_error("gpu_operator does not exit\n" + LastLines(out_file(), 10) + LastLines(err_file(), 10));
  }
  result.exit_code = process.Wait(kGrace).value_or(-1);
  return result;
}

}  // namespace driverupgrade::e2e
