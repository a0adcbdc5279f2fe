/// Reads and rewrites files that contain the expected output of tests, and decides whether rewriting is allowed.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_GOLDEN_FILE_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_GOLDEN_FILE_H_

#include <filesystem>
#include <string>

namespace driverupgrade::tests {

enum class Rewriting {
  kOff,
  kOn,       ///< DRIVERUPGRADE_REWRITE is 1.
  kRefused,  ///< DRIVERUPGRADE_REWRITE is 1 and CI is set. CI never rewrites, because a human must review.
};
Rewriting RewritingWanted();

/// Both functions throw std::runtime_error if the file cannot be read or written.
std::string ReadFile(const std::filesystem::path& path);
void WriteFile(const std::filesystem::path& path, const std::string& text);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_GOLDEN_FILE_H_
