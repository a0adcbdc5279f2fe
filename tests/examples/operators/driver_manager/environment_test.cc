#include "driver_manager/environment.h"

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "driver_manager/options.h"
#include "support/catch.h"

namespace driver_manager {
namespace {

using Environment = std::map<std::string, std::string>;

Settings Parsed(Environment environment) {
  environment["NODE_NAME"] = "gpu-7";
  const absl::StatusOr<ParsedEnvironment> parsed = ParseEnvironment(environment);
  INFO(parsed.status().ToString());
  REQUIRE(parsed.ok());
  return parsed->settings;
}

std::string Refusal(const std::string& name, const std::string& value) {
  const absl::StatusOr<ParsedEnvironment> parsed = ParseEnvironment({{"NODE_NAME", "gpu-7"}, {name, value}});
  REQUIRE(absl::IsInvalidArgument(parsed.status()));
  return std::string(parsed.status().message());
}

TEST_CASE("only the node name is required") {
  const Settings settings = Parsed({});
  CHECK(settings.node_name == "gpu-7");
  CHECK(settings.operator_namespace == "gpu-operator");
  CHECK(settings.evict_gpu_pods);
  CHECK(settings.auto_drain);
  CHECK_FALSE(settings.drain_force);
  CHECK_FALSE(settings.delete_empty_dir);
  CHECK_FALSE(settings.gpu_direct_rdma);
  CHECK_FALSE(settings.use_host_mofed);
  CHECK_FALSE(settings.force_reinstall);
  CHECK(settings.drain_timeout == absl::InfiniteDuration());
  CHECK(settings.drain_selector.empty());

  const absl::StatusOr<ParsedEnvironment> nothing = ParseEnvironment({});
  CHECK(std::string(nothing.status().message()).find("NODE_NAME") != std::string::npos);
}

TEST_CASE("the defaults match the help") {
  Environment defaults;
  for (const Variable& variable : Variables()) {
    if (*variable.default_value != '\0') defaults[variable.name] = variable.default_value;
  }
  const Settings told = Parsed(defaults);
  const Settings settings = Parsed({});
  CHECK(told.operator_namespace == settings.operator_namespace);
  CHECK(told.evict_gpu_pods == settings.evict_gpu_pods);
  CHECK(told.auto_drain == settings.auto_drain);
  CHECK(told.drain_force == settings.drain_force);
  CHECK(told.drain_timeout == settings.drain_timeout);
  CHECK(told.delete_empty_dir == settings.delete_empty_dir);
  CHECK(told.gpu_direct_rdma == settings.gpu_direct_rdma);
  CHECK(told.use_host_mofed == settings.use_host_mofed);
  CHECK(told.force_reinstall == settings.force_reinstall);
}

TEST_CASE("the README describes every variable, with its default") {
  std::ifstream file(DRIVER_MANAGER_SOURCE_DIR "/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  REQUIRE_FALSE(readme.empty());
  for (const Variable& variable : Variables()) {
    const std::string value = *variable.default_value == '\0' ? "–" : "`" + std::string(variable.default_value) + "`";
    const std::string row = "| `" + std::string(variable.name) + "` | " + value + " |";
    INFO(row);
    CHECK(readme.find(row) != std::string::npos);
  }
}

TEST_CASE("all settings can be set") {
  const Settings settings = Parsed({{"OPERATOR_NAMESPACE", "nvidia"},
                                    {"ENABLE_GPU_POD_EVICTION", "False"},
                                    {"ENABLE_AUTO_DRAIN", "0"},
                                    {"DRAIN_USE_FORCE", "t"},
                                    {"DRAIN_POD_SELECTOR_LABEL", "app!=db"},
                                    {"DRAIN_TIMEOUT_SECONDS", "300s"},
                                    {"DRAIN_DELETE_EMPTYDIR_DATA", "true"},
                                    {"NODE_LABEL_FOR_GPU_POD_EVICTION", "example.com/client"},
                                    {"GPU_DIRECT_RDMA_ENABLED", "TRUE"},
                                    {"USE_HOST_MOFED", "1"},
                                    {"FORCE_REINSTALL", "true"},
                                    {"DRIVER_CONFIG_DIGEST", "d-1"},
                                    {"KUBECONFIG", "/etc/kubeconfig"},
                                    {"PATH", "/bin"}});
  CHECK(settings.operator_namespace == "nvidia");
  CHECK_FALSE(settings.evict_gpu_pods);
  CHECK_FALSE(settings.auto_drain);
  CHECK(settings.drain_force);
  CHECK(settings.drain_selector.Matches({{"app", "web"}}));
  CHECK_FALSE(settings.drain_selector.Matches({{"app", "db"}}));
  CHECK(settings.drain_timeout == absl::Minutes(5));
  CHECK(settings.delete_empty_dir);
  CHECK(settings.custom_label == "example.com/client");
  CHECK(settings.gpu_direct_rdma);
  CHECK(settings.use_host_mofed);
  CHECK(settings.force_reinstall);
  CHECK(settings.config_digest == "d-1");
  CHECK(settings.kubeconfig == "/etc/kubeconfig");
}

TEST_CASE(
    "every variable is also available as a flag, before or after the command, and a switch without a value is on") {
  std::vector<std::string> words = {"driver_manager",
                                    "--node-name",
                                    "n1",
                                    "--drain-use-force",
                                    "--enable-auto-drain=false",
                                    "uninstall_driver",
                                    "--drain-timeout-seconds=300s"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const auto parsed = driver_manager::ParseOptions(static_cast<int>(arguments.size()), arguments.data());
  const auto* options = std::get_if<driver_manager::Options>(&parsed);
  REQUIRE(options != nullptr);
  CHECK(options->command == driver_manager::Command::kUninstallDriver);
  CHECK(options->variables == std::map<std::string, std::string>{{"NODE_NAME", "n1"},
                                                                 {"DRAIN_USE_FORCE", "true"},
                                                                 {"ENABLE_AUTO_DRAIN", "false"},
                                                                 {"DRAIN_TIMEOUT_SECONDS", "300s"}});
  CHECK(Parsed(options->variables).drain_force);
}

TEST_CASE("a switch with an empty value is off") { CHECK_FALSE(Parsed({{"ENABLE_AUTO_DRAIN", ""}}).auto_drain); }

TEST_CASE("a timeout may be a number of seconds, which logs a warning") {
  const auto parsed = ParseEnvironment({{"NODE_NAME", "gpu-7"}, {"DRAIN_TIMEOUT_SECONDS", "300"}});
  REQUIRE(parsed.ok());
  CHECK(parsed->settings.drain_timeout == absl::Minutes(5));
  REQUIRE(parsed->warnings.size() == 1);
  CHECK(parsed->warnings.front().find("DRAIN_TIMEOUT_SECONDS") != std::string::npos);
  CHECK(ParseEnvironment({{"NODE_NAME", "gpu-7"}, {"DRAIN_TIMEOUT_SECONDS", "0"}})->warnings.empty());
  CHECK(Parsed({{"DRAIN_TIMEOUT_SECONDS", "0s"}}).drain_timeout == absl::InfiniteDuration());
}

TEST_CASE("if an operand's label is set with a value, the value is ignored with a warning") {
  const auto parsed =
      ParseEnvironment({{"NODE_NAME", "gpu-7"}, {"NODE_LABEL_FOR_GPU_POD_EVICTION", "example.com/client=true"}});
  REQUIRE(parsed.ok());
  CHECK(parsed->settings.custom_label == "example.com/client");
  CHECK(parsed->warnings.size() == 1);
}

TEST_CASE("the error for an invalid value names the variable and the value") {
  const std::vector<std::pair<std::string, std::string>> bad = {{"ENABLE_AUTO_DRAIN", "yes"},
                                                                {"DRAIN_USE_FORCE", "2"},
                                                                {"DRAIN_TIMEOUT_SECONDS", "five"},
                                                                {"DRAIN_TIMEOUT_SECONDS", "-1s"},
                                                                {"DRAIN_TIMEOUT_SECONDS", "inf"},
                                                                {"DRAIN_POD_SELECTOR_LABEL", "app in"},
                                                                {"NODE_LABEL_FOR_GPU_POD_EVICTION", "a,b"},
                                                                {"NODE_LABEL_FOR_GPU_POD_EVICTION", "=true"}};
  for (const auto& [name, value] : bad) {
    const std::string text = Refusal(name, value);
    INFO(text);
    CHECK(text.find(name) != std::string::npos);
    CHECK(text.find("`" + value + "`") != std::string::npos);
  }
}

}  // namespace
}  // namespace driver_manager
