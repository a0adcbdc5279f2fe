#include "safe_load_init/options.h"

#include <vector>

#include "support/catch.h"

namespace safe_load_init {
namespace {

std::variant<Options, int> Parse(std::vector<const char*> more) {
  std::vector<const char*> arguments = {"safe_load_init", "--in-cluster"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
}

const std::vector<const char*> kUsual = {"--node-name",           "gpu-7",  "--configmap-name", "init",
                                         "--configmap-namespace", "drivers"};

std::vector<const char*> UsualAnd(std::vector<const char*> more) {
  more.insert(more.begin(), kUsual.begin(), kUsual.end());
  return more;
}

TEST_CASE("§2.7: the node and the config map are required, and the default key is config.json") {
  const auto parsed = Parse(kUsual);
  REQUIRE(std::holds_alternative<Options>(parsed));
  const SafeLoadOptions& options = std::get<Options>(parsed).safe_load;
  CHECK(options.node_name == "gpu-7");
  CHECK(options.configmap_name == "init");
  CHECK(options.configmap_ns == "drivers");
  CHECK(options.configmap_key == "config.json");
  CHECK(options.timeout == absl::InfiniteDuration());
  CHECK(std::get<int>(Parse({"--node-name", "gpu-7", "--configmap-name", "init"})) == kExitUsage);
  CHECK(std::get<int>(Parse({"--configmap-namespace", "drivers", "--configmap-name", "init"})) == kExitUsage);
}

TEST_CASE("H25: the administrator sets the time limit, and 0 means no limit") {
  CHECK(std::get<Options>(Parse(UsualAnd({"--timeout", "2h"}))).safe_load.timeout == absl::Hours(2));
  CHECK(std::get<Options>(Parse(UsualAnd({"--timeout", "0"}))).safe_load.timeout == absl::InfiniteDuration());
  CHECK(std::get<int>(Parse(UsualAnd({"--timeout", "soon"}))) == kExitUsage);
  CHECK(std::get<int>(Parse(UsualAnd({"--timeout", "-1s"}))) == kExitUsage);
}

TEST_CASE("a request for module checks is refused, because the program performs no such checks") {
  CHECK(std::holds_alternative<Options>(Parse(UsualAnd({"--skip-preflight-checks", "true"}))));
  CHECK(std::get<int>(Parse(UsualAnd({"--skip-preflight-checks", "false"}))) == kExitUsage);
}

TEST_CASE("help is not an error, but an empty node name is") {
  CHECK(std::get<int>(Parse({"--help"})) == kExitLoad);
  CHECK(std::get<int>(Parse({"--node-name", "", "--configmap-name", "init", "--configmap-namespace", "d"})) ==
        kExitUsage);
}

}  // namespace
}  // namespace safe_load_init
