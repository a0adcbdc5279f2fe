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

std::string WritePolicy(int parallel, const std::filesystem::path& folder) {
  const std::filesystem::path policy = folder / ("policy-" + std::to_string(parallel) + ".yaml");
  e2e::WriteFile(policy, e2e::Substitute(std::string(kPolicy), {{"$PARALLEL", std::to_string(parallel)}}));
  return policy.string();
}

}  // namespace

Program Limit(const std::filesystem::path& file, int parallel) {
  return {.name = "limit", .file = file, .options = {"--parallel", std::to_string(parallel)}};
}

Program Operator(const std::filesystem::path& file, int parallel, const std::string& events,
                 const std::filesystem::path& folder) {
  return {
      .name = events == "none" ? "gpu_operator" : "gpu_operator, Events",
      .file = file,
      .options = {"--policy", WritePolicy(parallel, folder), "--until-done", "--timeout", "10m", "--events", events}};
}

Program InGo(const std::string& name, const std::filesystem::path& file, int parallel,
             const std::filesystem::path& folder) {
  return {.name = name,
          .file = file,
          .options = {"--policy", WritePolicy(parallel, folder), "--until-done", "--timeout", "10m"}};
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
