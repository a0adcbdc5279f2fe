// Helpers for files, strings and waiting that all end-to-end tests share.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_SUPPORT_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_SUPPORT_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace driverupgrade::e2e {

// Returns the content of `file`, starting at byte `offset`; empty if the file does not exist.
std::string ReadFile(const std::filesystem::path& file, std::size_t offset = 0);

void WriteFile(const std::filesystem::path& file, std::string_view text);

// Returns the last `count` lines of `file`, to explain why a process has ended.
std::string LastLines(const std::filesystem::path& file, int count);

using Replacements = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Returns `text` with every occurrence of each name replaced by its value: {{"$NODE", "node-1"}}.
std::string Substitute(std::string text, Replacements replacements);

// Evaluates `condition` every 20 ms until it is true, for at most `limit`. Returns whether it became true.
bool Eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition);

class Stopwatch {
 public:
  double seconds() const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A directory that the destructor removes with all its content. If a test is killed, a later test removes its
// directory.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_SUPPORT_H_
