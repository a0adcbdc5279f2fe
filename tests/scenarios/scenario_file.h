/// A scenario: a text file with commands and what they print.
///
///     # Why the scenario exists.
///
///     node n1
///     driver hash=old
///     ----
///     ok
///
/// Commands before a `----` are run one after the other; what they print together is compared with the lines up to the
/// next empty line. Lines that begin with `#` are comments. See README.md for the commands.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_FILE_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_FILE_H_

#include <stdexcept>
#include <string>
#include <vector>

namespace driverupgrade::tests {

/// Something is wrong with a scenario or with what it shows; for a person.
class ScenarioError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ScenarioCommand {
  int line = 0;
  std::string text = {};
};

struct ScenarioBlock {
  /// Comments and empty lines before the commands.
  std::vector<std::string> preamble = {};
  std::vector<ScenarioCommand> commands = {};
  /// Line number of the first expected line.
  int expected_line = 0;
  std::vector<std::string> expected = {};
};

struct ScenarioFile {
  std::vector<ScenarioBlock> blocks = {};
};

/// Throws ScenarioError: no comment on top, commands without `----`, nothing expected.
ScenarioFile ParseScenario(const std::string& text);
/// The file with its blocks' `expected` lines.
std::string FormatScenario(const ScenarioFile& file);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_FILE_H_
