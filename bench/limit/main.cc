// Upgrades a driver with as few requests as a cluster allows. It is a baseline for comparison, not an operator: see
// limit_rollout.h.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/cpprest_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "fmt/format.h"
#include "limit/limit_rollout.h"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

struct Arguments {
  std::string kubeconfig;
  std::string driver_labels;
  double timeout_seconds = 600;
  driverupgrade::bench::LimitOptions rollout;
};

int Fail(int exit_code, const absl::Status& status) {
  fmt::print(stderr, "rollout_limit: {}\n", std::string(status.message()));
  return exit_code;
}

void Declare(CLI::App& app, Arguments& arguments) {
  app.add_option("--kubeconfig", arguments.kubeconfig, "kubeconfig file")->required()->check(CLI::ExistingFile);
  app.add_option("--namespace", arguments.rollout.ns, "namespace of the driver's pods")->required();
  app.add_option("--driver-labels", arguments.driver_labels, "selector of the driver's pods, such as app=driver")
      ->required();
  app.add_option("--parallel", arguments.rollout.parallel, "number of nodes upgraded at the same time; 0: all")
      ->capture_default_str();
  app.add_option("--timeout", arguments.timeout_seconds, "timeout in seconds")->capture_default_str();
}

int Run(Arguments arguments) {
  const auto kube = driverupgrade::KubeConfig::LoadFile(arguments.kubeconfig);
  if (!kube.ok()) return Fail(kExitUsage, kube.status());
  const auto labels = driverupgrade::LabelSelector::Parse(arguments.driver_labels);
  if (!labels.ok()) return Fail(kExitUsage, labels.status());
  const auto transport = driverupgrade::MakeCpprestTransport(*kube, {});
  if (!transport.ok()) return Fail(kExitUsage, transport.status());

  arguments.rollout.driver_labels = *labels;
  arguments.rollout.deadline = absl::Now() + absl::Seconds(arguments.timeout_seconds);
  driverupgrade::bench::LimitRollout rollout(*transport, arguments.rollout);
  if (const absl::Status status = rollout.Run(); !status.ok()) return Fail(kExitFailed, status);
  fmt::print("{} nodes done\n", rollout.nodes());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // cpprestsdk reads the system's certificate bundle for each connection but does not use it (cpprest_transport.h).
  setenv("SSL_CERT_FILE", "/dev/null", 0);
  Arguments arguments;
  CLI::App app{
      "Rolls out a driver with the fewest requests that a cluster allows: a reference for measurements, not an "
      "operator.\n"
      "Exit codes: 0 every node is done; 1 the rollout failed; 2 usage or configuration."};
  Declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  return Run(std::move(arguments));
}
