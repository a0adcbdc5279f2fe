// The command line of upgradectl.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_OPTIONS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_OPTIONS_H_

#include <string>
#include <variant>

#include "support/requestor_arguments.h"

namespace upgradectl {

/// As they were typed; Load (request.h) says what they mean.
struct Options {
  std::string cluster = {};
  std::string policy = {};
  std::string defaults = "plain";
  std::string driver = {};
  std::string domain = "nvidia.com";
  std::string ns = {};
  std::string driver_labels = {};
  std::string at = {};
  std::string active_since = {};
  std::string validation_selector = {};
  bool gpu_pods = false;
  examples::RequestorArguments requestor = {};
  std::string output = "table";
};

/// The program ends with the command line: help, version, or what is wrong with it.
struct Ending {
  bool failed = false;
  std::string text = {};
};

std::variant<Options, Ending> ParseOptions(int argc, const char* const* argv);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OPTIONS_H_
