/// Files whose text a test expects, and who may rewrite them.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_GOLDEN_FILE_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_GOLDEN_FILE_H_

#include <filesystem>
#include <string>

namespace driverupgrade::tests {

enum class Rewriting {
  kOff,
  kOn,       ///< DRIVERUPGRADE_REWRITE is 1.
  kRefused,  ///< It is, but CI is set too: expectations are reviewed by people, so nothing is rewritten there.
};
Rewriting RewritingWanted();

/// Throws std::runtime_error if the file cannot be read or written.
std::string ReadFile(const std::filesystem::path& path);
void WriteFile(const std::filesystem::path& path, const std::string& text);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_GOLDEN_FILE_H_
