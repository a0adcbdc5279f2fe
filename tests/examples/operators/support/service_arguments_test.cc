#include "support/service_arguments.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_split.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using examples::ServiceArguments;

constexpr const char* kNames[] = {"POD_NAME", "POD_NAMESPACE", "POD_UID", "NODE_NAME"};

struct Environment {
  Environment() {
    for (const char* name : kNames) unsetenv(name);
  }
  ~Environment() {
    for (const char* name : kNames) unsetenv(name);
  }
};

std::optional<int> Parse(const std::string& line, ServiceArguments& arguments) {
  std::vector<std::string> words = absl::StrSplit("operator " + line, ' ', absl::SkipEmpty());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  CLI::App app;
  examples::AddServiceArguments(app, arguments);
  return examples::ParseServiceArguments(app, static_cast<int>(argv.size()), argv.data(), arguments);
}

StateMachineOptions OwnPod(const std::string& more) {
  ServiceArguments arguments;
  REQUIRE_FALSE(Parse("--in-cluster --namespace drivers " + more, arguments));
  StateMachineOptions options;
  examples::SetOwnPod(arguments, options);
  return options;
}

TEST_CASE("help and usage errors exit with different codes, and missing options have defaults") {
  const Environment environment;
  ServiceArguments arguments;
  CHECK(Parse("--help", arguments) == examples::kExitDone);
  CHECK(Parse("--namespace drivers", arguments) == examples::kExitUsage);  // no cluster is specified
  CHECK(Parse("--in-cluster --namespace drivers --lease-name l", arguments) == examples::kExitUsage);
  REQUIRE_FALSE(Parse("--in-cluster --namespace drivers --leader-elect --ledger --ledger-namespace ops", arguments));
  CHECK(arguments.lease_namespace == "drivers");
  CHECK(arguments.ledger_namespace == "ops");
  CHECK_FALSE(arguments.identity.empty());
}

TEST_CASE("dep-F19: the operator's own pod and node are set by options, or by environment variables of its manifest") {
  const Environment environment;
  CHECK_FALSE(OwnPod("").own_pod);
  CHECK(OwnPod("").own_node.empty());
  CHECK(OwnPod("--pod-name op-1").own_pod == PodRef{.ns = "drivers", .name = "op-1"});
  CHECK(OwnPod("--pod-name op-1 --pod-namespace ops --pod-uid u").own_pod == PodRef{"ops", "op-1", "u"});
  setenv("POD_NAME", "op-2", 1);
  setenv("POD_NAMESPACE", "ops", 1);
  setenv("POD_UID", "u-2", 1);
  setenv("NODE_NAME", "n1", 1);
  CHECK(OwnPod("").own_pod == PodRef{"ops", "op-2", "u-2"});
  CHECK(OwnPod("").own_node == "n1");
  CHECK(OwnPod("--pod-name op-3 --node-name n2").own_pod->name == "op-3");
  CHECK(OwnPod("--pod-name op-3 --node-name n2").own_node == "n2");
  // POD_NAMESPACE alone does not identify a pod. It is also the default of other options.
  unsetenv("POD_NAME");
  CHECK_FALSE(OwnPod("").own_pod);
}

TEST_CASE("W1: the domain and name of the driver are options, so that its keys can differ from the vendor's keys") {
  const Environment environment;
  ServiceArguments arguments{.driver = "gpu"};
  CHECK(examples::IdentityOf(arguments)->Name() == "nvidia.com/gpu");
  std::vector<std::string> words = {"operator", "--in-cluster", "--namespace=drivers", "--domain=gpu.example.com"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  CLI::App app;
  examples::AddServiceArguments(app, arguments);
  examples::AddDriverIdentity(app, arguments);
  REQUIRE_FALSE(examples::ParseServiceArguments(app, static_cast<int>(argv.size()), argv.data(), arguments));
  CHECK(examples::IdentityOf(arguments)->StateLabel() == "gpu.example.com/gpu-driver-upgrade-state");
  arguments.driver = "not a name";
  CHECK(examples::IdentityOf(arguments).status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace driverupgrade::tests
