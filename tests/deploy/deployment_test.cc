// Tests the operators' Deployments: the programs accept the arguments, and each program receives the name of its own
// pod.
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "gpu/options.h"
#include "ofed/options.h"
#include "support/catch.h"
#include "yaml-cpp/yaml.h"

namespace driverupgrade::tests {
namespace {

const std::filesystem::path kRoot = DRIVERUPGRADE_SOURCE_DIR;

struct Deployment {
  YAML::Node yaml;
  YAML::Node pod() const { return yaml["spec"]["template"]; }
  YAML::Node container() const { return pod()["spec"]["containers"][0]; }
  std::string ns() const { return yaml["metadata"]["namespace"].as<std::string>(); }

  explicit Deployment(const std::string& example)
      : yaml(YAML::LoadFile((kRoot / "deploy" / example / "operator/deployment.yaml").string())) {}

  // Parses the container's arguments in the environment that the kubelet would set. However, variables from pod fields
  // other than metadata.namespace contain the field's path instead of its value.
  template <typename Options>
  examples::ServiceArguments Start(std::variant<Options, int> (*parse)(int, char**)) const {
    std::vector<std::string> words = {"program"};
    for (const YAML::Node& word : container()["args"]) words.push_back(word.as<std::string>());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    for (const YAML::Node& variable : container()["env"]) {
      const auto path = variable["valueFrom"]["fieldRef"]["fieldPath"].as<std::string>();
      setenv(variable["name"].as<std::string>().c_str(), path == "metadata.namespace" ? ns().c_str() : path.c_str(), 1);
    }
    const auto options = parse(static_cast<int>(argv.size()), argv.data());
    for (const YAML::Node& variable : container()["env"]) unsetenv(variable["name"].as<std::string>().c_str());
    REQUIRE(std::holds_alternative<Options>(options));
    return std::get<Options>(options).service;
  }
};

// Returns the ServiceAccounts in a directory of deploy/rbac, as `namespace/name`.
std::set<std::string> ServiceAccounts(const std::string& folder) {
  std::set<std::string> names;
  for (const YAML::Node& object :
       YAML::LoadAllFromFile((kRoot / "deploy/rbac" / folder / "service-account.yaml").string())) {
    names.insert(object["metadata"]["namespace"].as<std::string>() + "/" +
                 object["metadata"]["name"].as<std::string>());
  }
  return names;
}

void CheckPod(const Deployment& deployment, const examples::ServiceArguments& service, const std::string& rbac,
              const std::string& skip_label) {
  StateMachineOptions options;
  examples::SetOwnPod(service, options);
  CHECK(options.own_pod == PodRef{deployment.ns(), "metadata.name", "metadata.uid"});
  CHECK(options.own_node == "spec.nodeName");
  CHECK(service.ns == deployment.ns());
  CHECK(service.cluster.in_cluster);
  CHECK(service.leader_elect);
  const YAML::Node spec = deployment.pod()["spec"];
  CHECK(ServiceAccounts(rbac).contains(deployment.ns() + "/" + spec["serviceAccountName"].as<std::string>()));
  CHECK(deployment.pod()["metadata"]["labels"][skip_label].as<std::string>() == "true");
  std::set<std::string> ports;
  for (const YAML::Node& port : deployment.container()["ports"]) {
    ports.insert(port["name"].as<std::string>() + ":" + port["containerPort"].as<std::string>());
  }
  CHECK(ports == std::set<std::string>{"health" + service.health_address, "metrics" + service.metrics_address,
                                       "rollout" + service.rollout_secure_address});
  for (const char* probe : {"livenessProbe", "readinessProbe"}) {
    CHECK(deployment.container()[probe]["httpGet"]["port"].as<std::string>() == "health");
  }
}

TEST_CASE("dep-F19: the Deployments pass each operator its pod's name, and use only options that the program accepts") {
  const Deployment gpu("gpu");
  CheckPod(gpu, gpu.Start(gpu_operator::ParseOptions), "base", "nvidia.com/gpu-driver-upgrade-drain.skip");
  const Deployment ofed("ofed");
  CheckPod(ofed, ofed.Start(ofed_operator::ParseOptions), "ofed", "nvidia.com/ofed-driver-upgrade-drain.skip");
}

}  // namespace
}  // namespace driverupgrade::tests
