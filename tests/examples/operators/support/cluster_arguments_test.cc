#include "support/cluster_arguments.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_split.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

// A kubeconfig with a credential plugin, as providers of managed clusters generate it.
constexpr const char* kWithPlugin = R"({apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: k, cluster: {server: "https://h"}}],
contexts: [{name: c, context: {cluster: k, user: u}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: cloud-token,
                                interactiveMode: Never}}}]})";

absl::StatusOr<KubeConfig> Load(const std::string& more) {
  const auto path = std::filesystem::temp_directory_path() / "driverupgrade-cluster-arguments-test";
  std::ofstream(path) << kWithPlugin;
  const std::string line = "operator --kubeconfig " + path.string() + " " + more;
  std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  CLI::App app;
  examples::ClusterArguments arguments;
  examples::AddClusterArguments(app, arguments);
  app.parse(static_cast<int>(argv.size()), argv.data());
  absl::StatusOr<KubeConfig> config = examples::LoadKubeConfig(arguments);
  std::filesystem::remove(path);
  return config;
}

TEST_CASE("An unknown option is reported even if a required option is missing") {
  std::vector<std::string> words = {"operator", "--kube-config", "file"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  CLI::App app;
  examples::ClusterArguments arguments;
  examples::AddClusterArguments(app, arguments);
  std::ostringstream told;
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::ParseError& error) {
    app.exit(error, told, told);
  }
  CHECK_THAT(told.str(), Catch::Contains("--in-cluster") && Catch::Contains("Unknown: --kube-config file\n"));
}

TEST_CASE("A credential plugin runs only if the command line allows it") {
  const absl::Status refused = Load("").status();
  CHECK(absl::IsUnimplemented(refused));
  CHECK(std::string(refused.message()).find("allow-exec") != std::string::npos);
  const absl::StatusOr<KubeConfig> config = Load("--allow-exec");
  REQUIRE(config.ok());
  REQUIRE(config->exec);
  CHECK(config->exec->command == "cloud-token");
}

}  // namespace
}  // namespace driverupgrade::tests
