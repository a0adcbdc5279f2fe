// Tests the examples of docs/policy.md. Each example is a valid policy, except for the one whose mistakes are listed
// below it. Each policy that readers can copy is also the policy of the scenario that the page names.
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "driverupgrade/policy_codec.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

struct Block {
  std::string language;
  std::string text;
};

// Returns the lines of the page, or only the lines of the section with this heading.
std::string ReadPage(const std::string& heading = {}) {
  std::ifstream file(DRIVERUPGRADE_POLICY_PAGE);
  std::string text;
  bool inside = heading.empty();
  for (std::string line; std::getline(file, line);) {
    if (!heading.empty() && line.rfind("## ", 0) == 0) inside = line == heading;
    if (inside) text += line + "\n";
  }
  return text;
}

std::vector<Block> ReadBlocks(const std::string& page) {
  std::istringstream lines(page);
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      if (!inside) blocks.push_back({line.substr(3), ""});
      inside = !inside;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

// Joins the text into one line.
std::string Joined(const std::string& text) {
  std::istringstream words(text);
  std::string joined;
  for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

TEST_CASE("Each policy on the page is either valid, or rejected with exactly the error that the page shows") {
  const std::vector<Block> blocks = ReadBlocks(ReadPage());
  int right = 0;
  int wrong = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].language != "yaml") continue;
    const absl::Status status = ParseUpgradePolicy(blocks[i].text).status();
    INFO(blocks[i].text << status.ToString());
    if (i + 1 < blocks.size() && blocks[i + 1].language.empty()) {
      CHECK(std::string(status.message()) == Joined(blocks[i + 1].text));
      ++wrong;
    } else {
      CHECK(status.ok());
      ++right;
    }
  }
  CHECK(right > 0);
  CHECK(wrong > 0);
}

// Returns the scenarios to which the page links, in the order of the links.
std::vector<std::string> ReadScenarioLinks(const std::string& page) {
  std::istringstream lines(page);
  const std::string before = "](../tests/scenarios/";
  std::vector<std::string> links;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find(before);
    if (begin == std::string::npos) continue;
    const std::size_t name = begin + before.size();
    links.push_back(line.substr(name, line.find(')', name) - name));
  }
  return links;
}

// Returns the policy from the scenario's line `policy`.
std::string ReadPolicyOf(const std::string& scenario) {
  std::ifstream file(DRIVERUPGRADE_SCENARIOS "/" + scenario);
  const std::string before = "policy ";
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(before, 0) == 0) return "{autoUpgrade: true, " + line.substr(before.size()) + "}";
  }
  return "no policy in " + scenario;
}

TEST_CASE("Each policy that readers can copy equals the policy of the scenario that tests it") {
  const std::string section = ReadPage("## Policies to copy");
  const std::vector<Block> blocks = ReadBlocks(section);
  const std::vector<std::string> scenarios = ReadScenarioLinks(section);
  REQUIRE(blocks.size() == 7);
  REQUIRE(scenarios.size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const absl::StatusOr<UpgradePolicy> copied = ParseUpgradePolicy(blocks[i].text);
    const absl::StatusOr<UpgradePolicy> shown = ParseUpgradePolicy(ReadPolicyOf(scenarios[i]));
    INFO(scenarios[i] << ": " << copied.status().ToString() << " " << shown.status().ToString());
    REQUIRE(copied.ok());
    REQUIRE(shown.ok());
    CHECK(*copied == *shown);
  }
}

}  // namespace
}  // namespace driverupgrade
