// The programs that are measured, as command lines.
#ifndef DRIVERUPGRADE_BENCH_ROLLOUT_PROGRAM_H_
#define DRIVERUPGRADE_BENCH_ROLLOUT_PROGRAM_H_

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "controlplane/world.h"

namespace driverupgrade::bench {

struct Program {
  std::string name;  // in the tables
  std::filesystem::path file;
  std::vector<std::string> options;  // in addition to the common options
  std::chrono::seconds timeout;      // maximum run time
};

// Settings that all programs share.
struct Task {
  int parallel = 0;  // number of nodes upgraded at the same time; 0: all
  std::chrono::seconds timeout;
  std::filesystem::path folder;  // for policies
};

// Returns rollout_limit.
Program Limit(const std::filesystem::path& file, const Task& task);

// Returns gpu_operator, with a policy that limits only the number of nodes in progress.
Program Operator(const std::filesystem::path& file, const Task& task, const std::string& events);

// Returns a program of the Go module or of the Go library, with the same policy. Such programs always send Events.
Program InGo(const std::string& name, const std::filesystem::path& file, const Task& task);

// Returns the command line that runs the program on `world` as the user `operator`.
std::vector<std::string> CommandLine(const Program& program, const e2e::World& world);

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_ROLLOUT_PROGRAM_H_
