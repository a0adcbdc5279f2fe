#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace driverupgrade::e2e {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = "driverupgrade-e2e-";
constexpr std::chrono::milliseconds kPollInterval{20};

// The process that made a folder of ours is part of the folder's name.
pid_t MakerOf(const fs::path& folder) {
  const std::string name = folder.filename().string();
  pid_t pid = 0;
  if (name.rfind(kFolderPrefix, 0) == 0) {
    std::from_chars(name.data() + kFolderPrefix.size(), name.data() + name.size(), pid);
  }
  return pid;
}

void RemoveFoldersOfTheDead(const fs::path& parent) {
  std::vector<fs::path> left_behind;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const pid_t maker = MakerOf(entry.path());
    if (maker > 0 && kill(maker, 0) != 0 && errno == ESRCH) left_behind.push_back(entry.path());
  }
  for (const fs::path& folder : left_behind) fs::remove_all(folder, ignored);
}

}  // namespace

std::string ReadFile(const fs::path& file, std::size_t offset) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream.seekg(static_cast<std::streamoff>(offset))) return {};
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void WriteFile(const fs::path& file, std::string_view text) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);  // tokens are written too
  if (!stream) throw std::runtime_error("cannot write " + file.string());
}

std::string LastLines(const fs::path& file, int count) {
  const std::string text = ReadFile(file);
  std::size_t begin = text.size();
  for (int lines = 0; begin > 0; --begin) {
    const bool ends_a_line = text[begin - 1] == '\n' && begin != text.size();
    if (ends_a_line && ++lines == count) break;
  }
  return text.substr(begin);
}

std::string Substitute(std::string text, Replacements replacements) {
  for (const auto& [name, value] : replacements) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size())) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

bool Eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

double Stopwatch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

TemporaryFolder::TemporaryFolder() {
  const fs::path parent = fs::temp_directory_path();
  RemoveFoldersOfTheDead(parent);
  std::string name = (parent / kFolderPrefix).string() + std::to_string(getpid()) + "-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make the folder " + name);
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace driverupgrade::e2e
