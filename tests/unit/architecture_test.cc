// The arrows of the architecture (docs/architecture.md, "Who includes whom"), read from the includes.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = DRIVERUPGRADE_SOURCE_DIR;

std::vector<std::string> IncludesOf(const fs::path& file) {
  std::ifstream stream(file);
  REQUIRE(stream);
  std::vector<std::string> includes;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("#include ")) continue;
    const auto begin = line.find_first_of("<\"") + 1;
    includes.push_back(line.substr(begin, line.find_first_of(">\"", begin) - begin));
  }
  return includes;
}

std::vector<fs::path> FilesBelow(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    if (entry.path().extension() == ".h" || entry.path().extension() == ".cc") files.push_back(entry.path());
  }
  REQUIRE_FALSE(files.empty());
  return files;
}

TEST_CASE("Public headers include the standard library, abseil's four types and each other, nothing else") {
  const std::set<std::string> abseil = {"absl/status/status.h", "absl/status/statusor.h", "absl/time/time.h"};
  for (const fs::path& file : FilesBelow("include")) {
    for (const std::string& include : IncludesOf(file)) {
      CAPTURE(file, include);
      const bool standard = include.find('/') == std::string::npos && include.find('.') == std::string::npos;
      const bool allowed = standard || abseil.contains(include) || include.starts_with("driverupgrade/");
      CHECK(allowed);
    }
  }
}

TEST_CASE("arch-A1: what decides includes nothing of the ring around it") {
  const std::set<std::string> ring = {
      "driverupgrade/cluster_facade.h",   "driverupgrade/call_context.h",
      "driverupgrade/snapshot_builder.h", "driverupgrade/plan_executor.h",
      "driverupgrade/upgrade_engine.h",   "driverupgrade/observer.h",
      "driverupgrade/log_sink.h",         "driverupgrade/clock.h",
      "driverupgrade/leader_election.h",  "driverupgrade/admission_ledger.h",
      "driverupgrade/metrics_snapshot.h", "internal/ledger_pass.h",
  };
  std::vector<fs::path> deciders = FilesBelow("src/transitions");
  for (const char* name :
       {"state_machine", "drain_manager", "pod_manager", "safe_load_manager", "validation_manager", "admission",
        "admission_grants", "upgrade_budget", "plan", "attempt_log", "gate", "finding", "incremental_planner"}) {
    deciders.push_back(kRoot / "include/driverupgrade" / (std::string(name) + ".h"));
    deciders.push_back(kRoot / "src" / (std::string(name) + ".cc"));
  }
  for (const char* name : {"admission_queue", "step_parts"}) {
    deciders.push_back(kRoot / "src/internal" / (std::string(name) + ".h"));
    deciders.push_back(kRoot / "src/internal" / (std::string(name) + ".cc"));
  }
  for (const fs::path& file : deciders) {
    for (const std::string& include : IncludesOf(file)) {
      CAPTURE(file, include);
      CHECK_FALSE(ring.contains(include));
      CHECK_FALSE(include == "absl/time/clock.h");
    }
  }
}

TEST_CASE("Components depend one way: core, wire, kubernetes, transport, and core, prometheus, service") {
  const std::map<std::string, std::set<std::string>> may_include = {{"", {}},
                                                                    {"testing", {"testing", "wire"}},
                                                                    {"wire", {"wire"}},
                                                                    {"kubernetes", {"kubernetes", "wire"}},
                                                                    {"prometheus", {"prometheus"}},
                                                                    {"service", {"service", "prometheus"}}};
  for (const fs::path& file : FilesBelow("include/driverupgrade")) {
    const std::string own = fs::relative(file.parent_path(), kRoot / "include/driverupgrade").string();
    const std::set<std::string>& allowed = may_include.at(own == "." ? "" : own);
    for (const std::string& include : IncludesOf(file)) {
      if (!include.starts_with("driverupgrade/")) continue;
      const std::string folder = fs::path(include).parent_path().filename().string();
      CAPTURE(file, include);
      CHECK((folder == "driverupgrade" || allowed.contains(folder)));
    }
  }
}

TEST_CASE("The library reads no environment, prints nothing and does not exit") {
  for (const fs::path& file : FilesBelow("src")) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
      CAPTURE(file, line);
      for (const char* word : {"getenv(", "std::cout", "std::cerr", "printf(", "fmt::print(", "std::exit(", " exit("}) {
        CHECK(line.find(word) == std::string::npos);
      }
    }
  }
}

// CMake cuts names there: ctest would then ask for tests that do not exist.
TEST_CASE("No test has a semicolon in its name") {
  for (const fs::path& file : FilesBelow("tests")) {
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    const std::string macro = std::string("TEST_") + "CASE(";
    for (std::size_t at = text.find(macro); at != std::string::npos; at = text.find(macro, at + 1)) {
      const std::size_t begin = text.find('"', at) + 1;
      const std::string name = text.substr(begin, text.find('"', begin) - begin);
      CAPTURE(file, name);
      CHECK(name.find(';') == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace driverupgrade::tests
