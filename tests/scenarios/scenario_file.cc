#include "scenarios/scenario_file.h"

#include <sstream>
#include <string_view>

#include "fmt/format.h"

namespace driverupgrade::tests {
namespace {

constexpr std::string_view kSeparator = "----";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

ScenarioFile ParseScenario(const std::string& text) {
  const std::vector<std::string> lines = Lines(text);
  if (lines.empty() || !lines.front().starts_with("# ")) {
    throw ScenarioError("line 1: a scenario begins with a comment that says why it exists");
  }
  ScenarioFile file;
  ScenarioBlock block;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    if (lines[i] == kSeparator) {
      if (block.commands.empty()) throw ScenarioError(fmt::format("line {}: no command", number));
      block.expected_line = number + 1;
      while (i + 1 < lines.size() && !lines[i + 1].empty()) block.expected.push_back(lines[++i]);
      file.blocks.push_back(std::move(block));
      block = {};
    } else if (lines[i].empty() || lines[i].front() == '#') {
      if (!block.commands.empty()) throw ScenarioError(fmt::format("line {}: no `----` after a command", number));
      block.preamble.push_back(lines[i]);
    } else {
      block.commands.push_back({.line = number, .text = lines[i]});
    }
  }
  if (!block.commands.empty()) throw ScenarioError("the last command has no `----`");
  return file;
}

std::string FormatScenario(const ScenarioFile& file) {
  std::string text;
  for (const ScenarioBlock& block : file.blocks) {
    for (const std::string& line : block.preamble) text += line + "\n";
    for (const ScenarioCommand& command : block.commands) text += command.text + "\n";
    text += fmt::format("{}\n", kSeparator);
    for (const std::string& line : block.expected) text += line + "\n";
  }
  return text;
}

}  // namespace driverupgrade::tests
