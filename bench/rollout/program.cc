#include "rollout/program.h"

#include "controlplane/support.h"

namespace driverupgrade::bench {
namespace {

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: $PARALLEL
maxUnavailable: 100%
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

// Writes the policy file, and returns the options with which a program uses it.
std::vector<std::string> ByPolicy(const Task& task) {
  const std::string parallel = std::to_string(task.parallel);
  const std::filesystem::path policy = task.folder / ("policy-" + parallel + ".yaml");
  e2e::WriteFile(policy, e2e::Substitute(std::string(kPolicy), {{"$PARALLEL", parallel}}));
  return {"--policy", policy.string(), "--until-done", "--timeout", std::to_string(task.timeout.count()) + "s"};
}

}  // namespace

Program Limit(const std::filesystem::path& file, const Task& task) {
  return {
      .name = "limit",
      .file = file,
      .options = {"--parallel", std::to_string(task.parallel), "--timeout", std::to_string(task.timeout.count())},
      .timeout = task.timeout};
}

Program Operator(const std::filesystem::path& file, const Task& task, const std::string& events) {
  Program program{.name = events == "none" ? "gpu_operator" : "gpu_operator, Events",
                  .file = file,
                  .options = ByPolicy(task),
                  .timeout = task.timeout};
  program.options.insert(program.options.end(), {"--events", events});
  return program;
}

Program InGo(const std::string& name, const std::filesystem::path& file, const Task& task) {
  Program program{.name = name, .file = file, .options = ByPolicy(task), .timeout = task.timeout};
  // Removes the limit on the request rate, because gpu_operator also has no such limit.
  program.options.insert(program.options.end(), {"--qps", "-1"});
  return program;
}

std::vector<std::string> CommandLine(const Program& program, const e2e::World& world) {
  std::vector<std::string> command = {
      program.file.string(), "--kubeconfig",    world.control_plane().operator_kubeconfig().string(),
      "--namespace",         world.driver_ns(), "--driver-labels",
      "app=driver"};
  command.insert(command.end(), program.options.begin(), program.options.end());
  return command;
}

}  // namespace driverupgrade::bench
