// Checks rules about the text of the sources: which files they include, which names they use, and how tests are named.
#include <filesystem>
#include <fstream>
#include <iterator>
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

TEST_CASE("Public headers include only the standard library, three headers of abseil, and each other") {
  const std::set<std::string> abseil = {"absl/status/status.h", "absl/status/statusor.h", "absl/time/time.h"};
  for (const fs::path& file : FilesBelow("include")) {
    for (const std::string& include : IncludesOf(file)) {
      CAPTURE(file, include);
      if (file.parent_path().filename() == "c") {
        CHECK((include == "stddef.h" || include == "stdint.h"));
        continue;
      }
      const bool standard = include.find('/') == std::string::npos && include.find('.') == std::string::npos;
      const bool allowed = standard || abseil.contains(include) || include.starts_with("driverupgrade/");
      CHECK(allowed);
    }
  }
}

// The ctest docs.includes (scripts/include_graph.py) checks which directories may include files of which other
// directories.
TEST_CASE("arch-A1: the code in src/decide does not include a clock") {
  for (const fs::path& file : FilesBelow("src/decide")) {
    for (const std::string& include : IncludesOf(file)) {
      CAPTURE(file, include);
      CHECK_FALSE(include == "absl/time/clock.h");
      CHECK_FALSE(include == "driverupgrade/clock.h");
    }
  }
}

// Files in src/testing are exempt. For example, the invariant checker is a test oracle, and therefore reads nodes with
// its own code.
TEST_CASE("Only node_marks.cc and a few exempt files access the marks on a node by their keys") {
  const std::set<fs::path> knows = {kRoot / "src/model/node_marks.cc", kRoot / "src/model/driver_identity.cc",
                                    kRoot / "src/model/upgrade_state.cc",
                                    // This file reads state names from Event messages.
                                    kRoot / "src/whatif/node_history.cc"};
  for (const fs::path& file : FilesBelow("src")) {
    // The C interface returns the keys of the marks, but does not read marks.
    if (knows.contains(file) || file == kRoot / "src/c/driverupgrade.cc") continue;
    if (file.string().starts_with((kRoot / "src/testing").string())) continue;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
      CAPTURE(file, line);
      // PolicyAnnotation() is set on the Lease, not on a node.
      const bool of_lease = line.find("PolicyAnnotation()") != std::string::npos;
      CHECK((of_lease || line.find("Annotation()") == std::string::npos));
      CHECK(line.find("kCordonedByAnnotation") == std::string::npos);
      CHECK(line.find("ParseUpgradeState(") == std::string::npos);
      // A message may name a label, but only node_marks may look it up.
      CHECK_FALSE((line.find("Label()") != std::string::npos && line.find("labels") != std::string::npos));
    }
  }
}

TEST_CASE("The library does not read the environment, print, or exit") {
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

// CMake splits names at semicolons, and ctest would then look for tests that do not exist.
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
