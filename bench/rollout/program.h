// The programs that are measured, as command lines.
#ifndef DRIVERUPGRADE_BENCH_ROLLOUT_PROGRAM_H_
#define DRIVERUPGRADE_BENCH_ROLLOUT_PROGRAM_H_

#include <filesystem>
#include <string>
#include <vector>

#include "controlplane/world.h"

namespace driverupgrade::bench {

struct Program {
  std::string name;  // in the tables
  std::filesystem::path file;
  std::vector<std::string> options;  // beside those that all of them take
};

// rollout_limit. `parallel`: nodes at a time, 0 = all at once.
Program Limit(const std::filesystem::path& file, int parallel);

// gpu_operator, with a policy that holds nothing back but `parallel`. Writes the policy into `folder`.
Program Operator(const std::filesystem::path& file, int parallel, const std::string& events,
                 const std::filesystem::path& folder);

// A program of the Go module or of the Go library, which always send Events, with that policy.
Program InGo(const std::string& name, const std::filesystem::path& file, int parallel,
             const std::filesystem::path& folder);

// How to run it on `world` as user operator.
std::vector<std::string> CommandLine(const Program& program, const e2e::World& world);

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_ROLLOUT_PROGRAM_H_
