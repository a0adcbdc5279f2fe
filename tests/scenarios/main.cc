// Runs scenarios and compares their output: `scenarios [--until-failure] FILE...`. Exits with code 1 if the output of a
// scenario differs, or if a scenario breaks an invariant. With DRIVERUPGRADE_REWRITE=1, rewrites the files instead,
// unless CI is set. Review the differences before you commit them.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string_view>

#include "fmt/format.h"
#include "scenarios/golden_file.h"
#include "scenarios/scenario_commands.h"
#include "scenarios/scenario_file.h"

namespace driverupgrade::tests {
namespace {

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines.empty() ? std::vector<std::string>{"ok"} : lines;
}

void PrintDifference(const std::filesystem::path& path, const ScenarioBlock& block,
                     const std::vector<std::string>& is) {
  fmt::print(stderr, "{}:{}: `{}` printed something else\n", path.string(), block.expected_line,
             block.commands.back().text);
  for (const std::string& line : block.expected) fmt::print(stderr, "  expected: {}\n", line);
  for (const std::string& line : is) fmt::print(stderr, "  printed:  {}\n", line);
}

bool RunFile(const std::filesystem::path& path) {
  const std::string text = ReadFile(path);
  int line = 1;
  bool same = true;
  try {
    ScenarioFile file = ParseScenario(text);
    Scenario scenario;
    for (ScenarioBlock& block : file.blocks) {
      std::string output;
      for (const ScenarioCommand& command : block.commands) {
        line = command.line;
        output += scenario.Run(command.text);
      }
      std::vector<std::string> is = Split(output);
      if (is != block.expected) {
        same = false;
        if (RewritingWanted() != Rewriting::kOn) PrintDifference(path, block, is);
        block.expected = std::move(is);
      }
    }
    if (RewritingWanted() == Rewriting::kOn && FormatScenario(file) != text) WriteFile(path, FormatScenario(file));
    scenario.Finish();
  } catch (const ScenarioError& error) {
    fmt::print(stderr, "{}:{}: {}\n", path.string(), line, error.what());
    return false;
  }
  return same || RewritingWanted() == Rewriting::kOn;
}

int Main(int argc, char** argv) {
  if (RewritingWanted() == Rewriting::kRefused) {
    fmt::print(stderr, "DRIVERUPGRADE_REWRITE is not for CI\n");
    return 1;
  }
  const bool until_failure = argc > 1 && std::string_view(argv[1]) == "--until-failure";
  const int first = until_failure ? 2 : 1;
  bool all = argc > first;
  for (int i = first; i < argc && (all || !until_failure); ++i) all &= RunFile(argv[i]);
  return all ? 0 : 1;
}

}  // namespace
}  // namespace driverupgrade::tests

int main(int argc, char** argv) {
  try {
    return driverupgrade::tests::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
