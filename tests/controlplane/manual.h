// A page of the documentation, whose commands are run as a reader would run them.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_MANUAL_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_MANUAL_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "world.h"

namespace driverupgrade::e2e {

// The blocks of a page by their names: those that follow a line `<!-- run: NAME -->`, without the fences and their
// indentation. Throws
// std::runtime_error if two have the same name, or a mark is followed by something else.
std::map<std::string, std::string> MarkedBlocks(std::string_view page);

class Manual {
 public:
  // A page of docs/. Its commands run with the rights of the administrator of the world's cluster, with the world's
  // namespace and labels in the place of the page's.
  Manual(const World& world, const std::string& page);

  // What the page leaves to its reader: {{"NODE", "node-1"}}.
  using Words = std::map<std::string, std::string>;

  // Where it runs them: for files that a command names. It comes first in PATH.
  const std::filesystem::path& folder() const { return folder_; }

  // Runs a block by bash and returns what it prints. Throws std::runtime_error if it has no such block, leaves a word
  // of the page unfilled, or fails.
  std::string Run(const std::string& name, const Words& words = {}) const;

 private:
  std::string Fill(const std::string& name, const Words& words) const;

  const World& world_;
  std::filesystem::path folder_;
  std::map<std::string, std::string> blocks_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_MANUAL_H_
