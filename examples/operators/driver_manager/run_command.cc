#include "driver_manager/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace driver_manager {
namespace {

constexpr std::size_t kOutputMax = 64 * 1024;
constexpr absl::Duration kReapPause = absl::Milliseconds(5);
constexpr absl::Duration kKillPatience = absl::Seconds(2);

std::string Text(int error) { return std::generic_category().message(error); }

// Kills the child's process group in the destructor unless the child has exited. The destructor waits only as long as a
// kill usually takes, because a process that hangs in the kernel never exits.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (ended_) return;
    kill(-pid_, SIGKILL);
    Wait(absl::Now() + kKillPatience);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns the child's exit code; nullopt if the child has not exited by `until`.
  std::optional<int> Wait(absl::Time until) {
    while (true) {
      int status = 0;
      const pid_t waited = waitpid(pid_, &status, WNOHANG);
      ended_ = waited == pid_ || (waited < 0 && errno == ECHILD);
      if (ended_) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      if (absl::Now() >= until) return std::nullopt;
      absl::SleepFor(kReapPause);
    }
  }

 private:
  const pid_t pid_;
  bool ended_ = false;
};

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);  // the child must not inherit our signal mask, which blocks the stop signals
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, command.front().c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return absl::NotFoundError("no such program");
  if (error != 0) return absl::UnavailableError(Text(error));
  return pid;
}

// Reads the output until it ends. Returns false if it has not ended by `until`.
bool ReadAll(int fd, absl::Time until, std::string& output) {
  std::array<char, 4096> block;
  while (true) {
    const absl::Duration left = until - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const auto limit = std::min<std::int64_t>(absl::ToInt64Milliseconds(left) + 1, 60'000);
    if (poll(&waiting, 1, static_cast<int>(limit)) <= 0) continue;
    const ssize_t count = read(fd, block.data(), block.size());
    if (count == 0) return true;
    if (count < 0 && errno != EINTR) return true;
    if (count < 0) continue;
    const std::size_t room = kOutputMax - output.size();
    output.append(block.data(), std::min(room, static_cast<std::size_t>(count)));
  }
}

absl::StatusOr<CommandResult> Run(const std::vector<std::string>& command, absl::Duration timeout) {
  const absl::Time until = absl::Now() + timeout;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError(Text(errno));
  const absl::StatusOr<pid_t> pid = Spawn(command, ends[1]);
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  Child child(*pid);
  CommandResult result;
  const bool complete = ReadAll(ends[0], until, result.output);
  close(ends[0]);
  const std::optional<int> exit_code = complete ? child.Wait(until) : std::nullopt;
  if (!exit_code)
    return absl::DeadlineExceededError(fmt::format("still running after {}", absl::FormatDuration(timeout)));
  result.exit_code = *exit_code;
  absl::StripTrailingAsciiWhitespace(&result.output);
  return result;
}

}  // namespace

absl::StatusOr<CommandResult> RunCommand(const std::vector<std::string>& command, absl::Duration timeout) {
  absl::StatusOr<CommandResult> result = Run(command, timeout);
  if (result.ok()) return result;
  return absl::Status(result.status().code(), fmt::format("{}: {}", fmt::join(command, " "),
                                                          std::string_view(result.status().message().data(),
                                                                           result.status().message().size())));
}

}  // namespace driver_manager
