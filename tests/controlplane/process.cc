#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace driverupgrade::e2e {
namespace {

constexpr int kCannotStart = 127;
constexpr std::chrono::milliseconds kPollInterval{2};

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(std::map<std::string, std::string> variables) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));  // values from the caller take precedence
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

// All memory that the child needs. It is allocated before the fork, because a child must not allocate between fork and
// exec.
struct Image {
  pid_t parent = 0;
  char* const* command = nullptr;
  char* const* environment = nullptr;
  const char* out = nullptr;
  const char* err = nullptr;
  const char* folder = nullptr;
};

bool Redirect(const char* file, int flags, int descriptor) {
  const int opened = open(file, flags, 0600);
  return opened >= 0 && dup2(opened, descriptor) >= 0;
}

[[noreturn]] void RunChild(const Image& image) {
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != image.parent) _exit(kCannotStart);  // the test died before the kernel processed our request
  if (!Redirect("/dev/null", O_RDONLY | O_CLOEXEC, STDIN_FILENO)) _exit(kCannotStart);
  if (!Redirect(image.out, kWrite, STDOUT_FILENO)) _exit(kCannotStart);
  const bool err_opened =
      image.err == nullptr ? dup2(STDOUT_FILENO, STDERR_FILENO) >= 0 : Redirect(image.err, kWrite, STDERR_FILENO);
  if (!err_opened || (image.folder != nullptr && chdir(image.folder) != 0)) _exit(kCannotStart);
  execvpe(image.command[0], image.command, image.environment);
  _exit(kCannotStart);
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = Environment(options.environment);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  Image image;
  image.parent = getpid();
  image.command = argument_pointers.data();
  image.environment = environment_pointers.data();
  image.out = options.out.c_str();
  image.err = options.err.empty() ? nullptr : options.err.c_str();
  image.folder = options.folder.empty() ? nullptr : options.folder.c_str();

  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start " + command.front());
  if (pid_ == 0) RunChild(image);
  setpgid(pid_, pid_);  // in the parent as well, in case Kill is called before the child has created the group
}

std::optional<int> Process::Poll() {
  if (exit_code_.has_value()) return exit_code_;
  int status = 0;
  rusage taken = {};
  if (wait4(pid_, &status, WNOHANG, &taken) != pid_) return std::nullopt;
  usage_ = {.cpu_seconds = Seconds(taken.ru_utime) + Seconds(taken.ru_stime),
            .peak_mib = static_cast<double>(taken.ru_maxrss) / 1024};
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

std::optional<int> Process::Wait(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (IsRunning() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(kPollInterval);
  return exit_code_;
}

void Process::Kill() {
  if (!IsRunning()) return;
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  exit_code_ = 128 + SIGKILL;
}

}  // namespace driverupgrade::e2e
