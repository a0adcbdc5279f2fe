/// A scenario: a text file with commands and their expected output.
///
///     # The purpose of the scenario.
///
///     node n1
///     driver hash=old
///     ----
///     ok
///
/// Commands before a `----` run in sequence. Their complete output is compared with the lines between `----` and the
/// next empty line. Lines that start with `#` are comments. See README.md for the commands.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_FILE_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_FILE_H_

#include <stdexcept>
#include <string>
#include <vector>

namespace driverupgrade::tests {

/// An error in a scenario or in its result, with a message for its author.
class ScenarioError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ScenarioCommand {
  int line = 0;
  std::string text = {};
};

struct ScenarioBlock {
  /// Comments and empty lines before the first command.
  std::vector<std::string> preamble = {};
  std::vector<ScenarioCommand> commands = {};
  /// Line number of the first line of expected output.
  int expected_line = 0;
  std::vector<std::string> expected = {};
};

struct ScenarioFile {
  std::vector<ScenarioBlock> blocks = {};
};

/// Throws ScenarioError if the first line is not a comment, if commands are not followed by a `----`, or if no output
/// is expected.
ScenarioFile ParseScenario(const std::string& text);
/// Returns the contents of the file, with the `expected` lines of its blocks.
std::string FormatScenario(const ScenarioFile& file);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_FILE_H_
