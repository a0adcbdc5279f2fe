// The program without its process: what main calls, and the tests.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_UPGRADECTL_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_UPGRADECTL_H_

#include <iosfwd>

namespace upgradectl {

/// Exit codes of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitOutput = 1;  // the answer could not be written
inline constexpr int kExitUsage = 2;   // the command line, the dump or the policy

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

/// Returns the exit code. What is wrong is one line on `err`, and then `out` has nothing.
int Run(int argc, const char* const* argv, const Streams& streams);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_UPGRADECTL_H_
