#include "support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
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

// Locks a directory until the process ends. Returns -1 if the directory does not exist, or if another process has the
// lock and `wait` is false.
int LockFolder(const fs::path& folder, bool wait) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file >= 0 && flock(file, LOCK_EX | (wait ? 0 : LOCK_NB)) == 0) return file;
  if (file >= 0) close(file);
  return -1;
}

// Removes the directories of processes that have ended. A running process holds the lock of its directory. The process
// ID would not show whether the process is running, because the process may belong to another PID namespace.
void RemoveFoldersOfTheDead(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (entry.path().filename().string().starts_with(kFolderPrefix)) folders.push_back(entry.path());
  }
  for (const fs::path& folder : folders) {
    const int lock = LockFolder(folder, /*wait=*/false);
    if (lock < 0) continue;
    fs::remove_all(folder, ignored);
    close(lock);
  }
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
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);  // the file may contain tokens
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
  // The lock of the parent keeps other processes away from the new directory until that directory is locked.
  const int parent_lock = LockFolder(parent, /*wait=*/true);
  RemoveFoldersOfTheDead(parent);
  std::string name = (parent / kFolderPrefix).string() + std::to_string(getpid()) + "-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make the folder " + name);
  }
  path_ = name;
  lock_ = LockFolder(path_, /*wait=*/true);
  close(parent_lock);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace driverupgrade::e2e
