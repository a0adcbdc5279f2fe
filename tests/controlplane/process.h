// Runs a program as a child that cannot outlive the test.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_PROCESS_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace driverupgrade::e2e {

struct ProcessOptions {
  std::filesystem::path out;                       // file for standard output
  std::filesystem::path err;                       // file for standard error; empty = same as `out`
  std::filesystem::path folder;                    // working directory; empty = working directory of the test
  std::map<std::string, std::string> environment;  // in addition to the test's environment
};

// Resources used by a process that has exited on its own.
struct Usage {
  double cpu_seconds = 0;
  double peak_mib = 0;  // peak of resident memory
};

// A child process in its own process group. The destructor kills it. The kernel also kills it if the test itself dies
// for any reason. Create a Process only on the main thread, because the kernel kills the child when the forking thread
// ends. Standard input is empty.
class Process {
 public:
  // Starts `command[0]`, which is searched for in PATH. If the program cannot be started, the exit code is 127, as in a
  // shell.
  Process(const std::vector<std::string>& command, const ProcessOptions& options);
  ~Process() { Kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool IsRunning() { return !Poll().has_value(); }

  // Waits at most `limit`. Returns the exit code once the process has ended (128 + signal if a signal ended it), or
  // nullopt if it is still running.
  std::optional<int> Wait(std::chrono::milliseconds limit);

  // Resources used by the process; zero until it has ended.
  const Usage& usage() const { return usage_; }

  // Sends SIGKILL to the whole process group. Does nothing if the process has ended.
  void Kill();

 private:
  std::optional<int> Poll();

  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  Usage usage_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_PROCESS_H_
