// The examples of docs/policy.md: each is a policy, but for the one whose mistakes are told below it.
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

std::vector<Block> ReadBlocks(const char* page) {
  std::ifstream file(page);
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      if (!inside) blocks.push_back({line.substr(3), ""});
      inside = !inside;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

// On one line.
std::string Joined(const std::string& text) {
  std::istringstream words(text);
  std::string joined;
  for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

TEST_CASE("The policies of the page are policies, and the wrong one is told as the page says") {
  const std::vector<Block> blocks = ReadBlocks(DRIVERUPGRADE_POLICY_PAGE);
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

}  // namespace
}  // namespace driverupgrade
