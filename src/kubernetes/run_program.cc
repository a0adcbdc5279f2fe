#include "kubernetes/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <string_view>
#include <system_error>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "kubernetes/transport_errors.h"

namespace driverupgrade {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kReapPause{2};
// Maximum delay until a stop request is noticed.
constexpr int kPollMilliseconds = 100;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view NameOf(std::string_view variable) { return variable.substr(0, variable.find('=')); }

// Returns this process's environment, overridden by `changes`.
std::vector<std::string> Environment(const std::vector<std::string>& changes) {
  std::vector<std::string> result = changes;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const bool changed = std::any_of(changes.begin(), changes.end(),
                                     [&](const std::string& change) { return NameOf(change) == NameOf(*at); });
    if (!changed) result.emplace_back(*at);
  }
  return result;
}

absl::Status SpawnFailure(int error) {
  const std::string why = std::generic_category().message(error);
  if (error == ENOENT) return absl::NotFoundError("no such program");
  if (error == EACCES) return absl::PermissionDeniedError(why);
  return absl::UnavailableError(why);
}

// Settings of the child process, except for its command and environment.
class SpawnSettings {
 public:
  explicit SpawnSettings(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // Closes all other files, because they include connections with this process's credentials.
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Returns OK if the caller must keep waiting for the program, or else the reason to stop.
absl::Status Patience(const ProgramParams& params, Steady::time_point until) {
  if (params.stop.stop_requested()) return absl::CancelledError("stop requested");
  if (Steady::now() < until) return absl::OkStatus();
  return absl::DeadlineExceededError(fmt::format("still running after {}", absl::FormatDuration(params.timeout)));
}

// A child process. The destructor kills and reaps the process unless the process has ended.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (ended_) return;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns the wait status of the child, or 0 if other code has reaped the child. Errors: same as Patience.
  absl::StatusOr<int> Wait(const ProgramParams& params, Steady::time_point until) {
    while (true) {
      int status = 0;
      const pid_t result = waitpid(pid_, &status, WNOHANG);
      ended_ = result == pid_ || (result < 0 && errno == ECHILD);
      if (ended_) return result == pid_ ? status : 0;
      DRIVERUPGRADE_RETURN_IF_ERROR(Patience(params, until));
      const timespec pause{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kReapPause).count()};
      nanosleep(&pause, nullptr);
    }
  }

 private:
  const pid_t pid_;
  bool ended_ = false;
};

// Reads everything up to the end of the pipe.
absl::StatusOr<std::string> ReadAll(int fd, const ProgramParams& params, Steady::time_point until) {
  std::string output;
  std::array<char, 4096> block;
  while (true) {
    DRIVERUPGRADE_RETURN_IF_ERROR(Patience(params, until));
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t count = read(fd, block.data(), block.size());
    if (count == 0) return output;
    if (count < 0 && errno != EINTR) return absl::UnavailableError("its output cannot be read");
    if (count < 0) continue;
    if (output.size() + static_cast<std::size_t>(count) > params.output_size_max) {
      return absl::OutOfRangeError(fmt::format("prints more than {} bytes", params.output_size_max));
    }
    output.append(block.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

absl::StatusOr<std::string> RunProgram(const ProgramParams& params) {
  const Steady::time_point until = After(params.timeout);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SpawnFailure(errno);
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const SpawnSettings settings(writing.get());
  const std::vector<std::string> environment = Environment(params.environment);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, params.command.front().c_str(), settings.actions(), settings.attributes(),
                                 Pointers(params.command).data(), Pointers(environment).data());
  if (error != 0) return SpawnFailure(error);
  Child child(pid);
  writing.Close();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string output, ReadAll(reading.get(), params, until));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const int status, child.Wait(params, until));
  if (status == 0) return output;
  if (WIFEXITED(status)) return absl::UnavailableError(fmt::format("exit code {}", WEXITSTATUS(status)));
  return absl::UnavailableError("terminated by a signal");
}

}  // namespace driverupgrade
