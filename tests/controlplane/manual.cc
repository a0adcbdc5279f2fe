#include "manual.h"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "support.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::minutes kLimit{2};

// The pages use the labels of the operators' own driver pods. A world's driver pods have a different label.
constexpr const char* kDriverLabels[] = {"app=nvidia-driver-daemonset", "app=mofed-ubuntu22.04"};

std::string Next(std::istringstream& lines) {
  std::string line;
  std::getline(lines, line);
  return line;
}

std::filesystem::path MakeFolder(const World& world) {
  static int count = 0;
  const std::filesystem::path folder = world.control_plane().folder() / ("manual-" + std::to_string(++count));
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace

std::map<std::string, std::string> MarkedBlocks(std::string_view page) {
  static const std::regex kMark("( *)<!-- run: ([a-z0-9-]+) -->");
  std::map<std::string, std::string> blocks;
  std::istringstream lines{std::string(page)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch mark;
    if (!std::regex_match(line, mark, kMark)) continue;
    const std::string indent = mark[1];
    if (Next(lines) != indent + "```sh") throw std::runtime_error("no block of sh follows " + line);
    std::string text;
    for (std::string code = Next(lines); code != indent + "```"; code = Next(lines)) {
      if (!lines) throw std::runtime_error("the block after " + line + " has no end");
      text += code.substr(code.rfind(indent, 0) == 0 ? indent.size() : 0) + "\n";
    }
    if (!blocks.emplace(mark[2], text).second) throw std::runtime_error("a second block has " + line);
  }
  return blocks;
}

Manual::Manual(const World& world, const std::string& page)
    : world_(world),
      folder_(MakeFolder(world)),
      blocks_(MarkedBlocks(ReadFile(std::filesystem::path(DRIVERUPGRADE_DOCS_DIR) / page))) {
  world.control_plane().admin().WriteCommand(folder_ / "kubectl");
}

std::string Manual::Fill(const std::string& name, const Words& words) const {
  const auto block = blocks_.find(name);
  if (block == blocks_.end()) throw std::runtime_error("the page has no block " + name);
  std::string text = Substitute(block->second, {{kDriverLabels[0], "app=driver"}, {kDriverLabels[1], "app=driver"}});
  Words all = words;
  all.emplace("NAMESPACE", world_.driver_ns());
  // A word with a colon is a column heading, and stays.
  for (const auto& [word, value] : all) {
    text = std::regex_replace(text, std::regex("\\b" + word + "\\b(?!:)"), value);
  }
  static const std::regex kWords(
      "\\b(NODE|NAMESPACE|NAME|POD|DAEMONSET|DEPLOYMENT|SELECTOR|VERSION|REPOSITORY|CHART)\\b(?!:)");
  std::smatch unfilled;
  if (std::regex_search(text, unfilled, kWords)) {
    throw std::runtime_error(name + ": " + unfilled.str() + " is not filled in:\n" + text);
  }
  return text;
}

std::string Manual::Run(const std::string& name, const Words& words) const {
  const std::string text = Fill(name, words);
  ProcessOptions options;
  options.out = folder_ / "out";
  options.err = folder_ / "err";
  options.folder = folder_;
  const char* path = std::getenv("PATH");
  options.environment = {{"PATH", folder_.string() + ":" + (path == nullptr ? "" : path)},
                         {"KUBECONFIG", (world_.control_plane().folder() / "admin.kubeconfig").string()}};
  Process process({"bash", "-euo", "pipefail", "-c", text}, options);
  const std::optional<int> exit_code = process.Wait(kLimit);
  process.Kill();
  if (exit_code != 0) {
    throw std::runtime_error(name + ": exit code " + std::to_string(exit_code.value_or(-1)) + "\n" + text +
                             ReadFile(options.out) + ReadFile(options.err));
  }
  return ReadFile(options.out);
}

}  // namespace driverupgrade::e2e
