// Files, text and waiting: what every part of the end-to-end tests needs.
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

// The content of `file`, from byte `offset` on; empty if there is no such file.
std::string ReadFile(const std::filesystem::path& file, std::size_t offset = 0);

void WriteFile(const std::filesystem::path& file, std::string_view text);

// The last `count` lines of `file`, to say why a process ended.
std::string LastLines(const std::filesystem::path& file, int count);

using Replacements = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// `text` with every occurrence of each name replaced by its value: {{"$NODE", "node-1"}}.
std::string Substitute(std::string text, Replacements replacements);

// Asks `condition` every 20 ms until it is true, at most for `limit`. Returns whether it became true.
bool Eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition);

class Stopwatch {
 public:
  double seconds() const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A folder that is removed with everything in it. What a killed test left behind is removed by the next one.
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
