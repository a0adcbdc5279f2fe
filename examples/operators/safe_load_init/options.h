// The command line of safe_load_init.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_OPTIONS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_OPTIONS_H_

#include <variant>

#include "safe_load_init/safe_load.h"
#include "support/cluster_arguments.h"

namespace safe_load_init {

struct Options {
  examples::ClusterArguments cluster = {};
  SafeLoadOptions safe_load = {};
};

/// Returns the options, or the exit code if the program must exit after having printed its help, its version, or an
/// error.
std::variant<Options, int> ParseOptions(int argc, const char* const* argv);

}  // namespace safe_load_init

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_OPTIONS_H_
