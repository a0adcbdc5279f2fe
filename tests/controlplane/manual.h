// Runs the commands of a documentation page as a reader would run them.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_MANUAL_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_MANUAL_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "world.h"

namespace driverupgrade::e2e {

// Returns the code blocks of a page that follow a line `<!-- run: NAME -->`, keyed by NAME. The blocks include
// neither their fences nor their indentation. Throws std::runtime_error if two blocks have the same name, or if a mark
// is not followed by a block.
std::map<std::string, std::string> MarkedBlocks(std::string_view page);

class Manual {
 public:
  // A page of docs/. Its commands run with the cluster administrator's permissions. The world's namespace and labels
  // replace the namespace and labels on the page.
  Manual(const World& world, const std::string& page);

  // Values for the words that the reader must fill in: {{"NODE", "node-1"}}.
  using Words = std::map<std::string, std::string>;

  // Directory in which the blocks run and in which a test puts the files that a command names. The directory comes
  // first in PATH.
  const std::filesystem::path& folder() const { return folder_; }

  // Runs a block with bash and returns its output. Throws std::runtime_error if the page has no such block, if a word
  // of the page is not filled in, or if the block fails.
  std::string Run(const std::string& name, const Words& words = {}) const;

 private:
  std::string Fill(const std::string& name, const Words& words) const;

  const World& world_;
  std::filesystem::path folder_;
  std::map<std::string, std::string> blocks_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_MANUAL_H_
