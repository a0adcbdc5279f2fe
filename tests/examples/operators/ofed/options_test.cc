#include "ofed/options.h"

#include <cstdlib>
#include <map>
#include <string>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::Options;
using ofed_operator::OptionsFromEnvironment;

constexpr const char* kNames[] = {"POD_NAMESPACE",
                                  "DISABLE_MIGRATION",
                                  "MAINTENANCE_OPERATOR_ENABLED",
                                  "MAINTENANCE_OPERATOR_REQUESTOR_ID",
                                  "MAINTENANCE_OPERATOR_REQUESTOR_NAMESPACE",
                                  "MAINTENANCE_OPERATOR_NODE_MAINTENANCE_PREFIX"};

Options With(const std::map<std::string, std::string>& environment) {
  for (const char* name : kNames) unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  Options options = OptionsFromEnvironment();
  for (const char* name : kNames) unsetenv(name);
  return options;
}

TEST_CASE("upstream 2.1: the environment of the Network Operator and its defaults are read") {
  const Options none = With({});
  CHECK(none.service.ns == "nvidia-network-operator");
  CHECK_FALSE(none.disable_migration);
  CHECK_FALSE(none.requestor.id);
  const Options all = With({{"POD_NAMESPACE", "net"},
                            {"DISABLE_MIGRATION", "true"},
                            {"MAINTENANCE_OPERATOR_ENABLED", "true"},
                            {"MAINTENANCE_OPERATOR_REQUESTOR_ID", "nvidia.doca-driver-upgrade"},
                            {"MAINTENANCE_OPERATOR_NODE_MAINTENANCE_PREFIX", "network-operator"}});
  CHECK(all.service.ns == "net");
  CHECK(all.disable_migration);
  CHECK(all.requestor.id == "nvidia.doca-driver-upgrade");
  CHECK(all.requestor.ns == "default");
  CHECK(all.requestor.name_prefix == "network-operator");
}

TEST_CASE("requestor mode is on only if the value is exactly true, and requires an id") {
  CHECK_FALSE(
      With({{"MAINTENANCE_OPERATOR_ENABLED", "True"}, {"MAINTENANCE_OPERATOR_REQUESTOR_ID", "a.b"}}).requestor.id);
  const Options options = With({{"MAINTENANCE_OPERATOR_ENABLED", "true"}});
  CHECK_FALSE(examples::ReadRequestorArguments(options.requestor).ok());
}

TEST_CASE("status.state is written unless the command line leaves it to the vendor's operator") {
  const auto parsed = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"ofed_operator", "--in-cluster"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return ofed_operator::ParseOptions(static_cast<int>(argv.size()), argv.data());
  };
  CHECK_FALSE(std::get<Options>(parsed({})).write_state);
  CHECK(std::get<Options>(parsed({"--resource-state=Leave"})).write_state == false);
  CHECK(std::get<Options>(parsed({"--resource-state=Write"})).write_state == true);
  CHECK(std::get<int>(parsed({"--resource-state=Perhaps"})) == 2);
}

}  // namespace
}  // namespace driverupgrade::tests
