#include "upgradectl_picture.h"

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <utility>

#include "kubectl.h"
#include "support.h"
#include "support/catch.h"
#include "upgradectl_program.h"

namespace driverupgrade::e2e {
namespace {

// Moves Events about gates after Events about states, because different calls write them in no particular order.
std::string WithGatesLast(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::string result;
  std::string gates;
  while (std::getline(lines, line)) {
    const bool is_event = line.starts_with("  TIME  AGE  ");
    const bool is_gate = is_event && line.find("The driver upgrade waits in ") != std::string::npos;
    if (!is_event) result += std::exchange(gates, {});
    (is_gate ? gates : result) += line + "\n";
  }
  return result + gates;
}

std::string WithoutChance(const World& world, std::string text) {
  const std::string world_name = world.driver_ns().substr(0, world.driver_ns().rfind("-driver"));
  const std::string folder = world.control_plane().folder().string();
  text = Substitute(std::move(text), {{folder, "FOLDER"}, {world.control_plane().url(), "URL"}});
  text = std::regex_replace(text, std::regex(world_name + R"(\b)"), "world");
  const std::pair<const char*, const char*> words[] = {
      {R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)", "TIME"},
      {R"(\bdriver-[bcdfghjklmnpqrstvwxz2456789]{5}\b)", "driver-POD"},
      {R"(\b(web)-[a-z0-9]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b)", "$1-POD"},
      {R"(\b(ReplicaSet web)-[a-z0-9]{5,10}\b)", "$1-SET"},
      // Applied after pod names are replaced, because their random part can look like an age.
      {R"(\b(\d+(\.\d+)?(ms|s|m|h))+\b)", "AGE"},
      {R"(operator \S+_\S+)", "operator HOLDER"},
      {R"(\(\d+ times\))", "(N times)"},
      // Event times are in whole seconds. If the first pod started in the same second as the restart, that pod is
      // counted as well.
      {R"(\n +pod number \d+ since TIME \(AGE ago\): the earlier pods were deleted or evicted)", ""},
      // The widths of table columns depend on the replaced words.
      {R"(([^ \n])  +)", "$1  "},
  };
  for (const auto& [pattern, word] : words) text = std::regex_replace(text, std::regex(pattern), word);
  // The newest revision is replaced first, because the other revision's name can contain it by chance.
  const std::string newest = world.NewestDriverRevision();
  for (const std::string& revision : {newest, newest.substr(0, 7) + "…"}) {
    text = Substitute(std::move(text), {{revision, "NEW"}});
  }
  for (const DriverPod& pod : world.DriverPods()) {
    if (pod.revision.empty() || pod.revision == newest) continue;
    for (const std::string& revision : {pod.revision, pod.revision.substr(0, 7) + "…"}) {
      text = Substitute(std::move(text), {{revision, "OLD"}});
    }
  }
  return WithGatesLast(text);
}

}  // namespace

std::vector<std::string> UpgradectlOptions(const World& world, const std::string& kubeconfig) {
  std::vector<std::string> options = {"--kubeconfig",    kubeconfig,   "--namespace", world.driver_ns(),
                                      "--driver-labels", "app=driver"};
  // The operators of these tests read their policy from a file. They validate the driver only if an option requires it.
  options.insert(options.end(), {"--validation-selector", ""});
  return options;
}

std::string PictureOf(const World& world, const std::vector<std::vector<std::string>>& commands,
                      const std::vector<std::string>& options) {
  std::string text;
  for (std::vector<std::string> command : commands) {
    text += text.empty() ? "$ upgradectl" : "\n$ upgradectl";
    for (const std::string& word : command) text += " " + word;
    command.insert(command.end(), options.begin(), options.end());
    const KubectlResult answer = RunUpgradectl(world.control_plane(), command);
    text += "\n" + answer.out + answer.err;
    if (answer.exit_code != 0) text += "(exit code " + std::to_string(answer.exit_code) + ")\n";
  }
  return WithoutChance(world, text);
}

void CheckPicture(const std::string& name, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(DRIVERUPGRADE_TROUBLES_DIR) / (name + ".txt");
  if (std::getenv("DRIVERUPGRADE_REWRITE") != nullptr) return WriteFile(file, text);
  CHECK(text == ReadFile(file));
}

}  // namespace driverupgrade::e2e
