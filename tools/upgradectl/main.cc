// Shows where an upgrade stands and what it would do, and does what an administrator does by hand.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "upgradectl/upgradectl.h"

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

upgradectl::Screen ScreenOfOutput() {
  if (isatty(STDOUT_FILENO) == 0) return {};
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  // https://no-color.org: whatever its value.
  const bool colour = Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
  return {.columns = known ? std::size_t{size.ws_col} : std::size_t{80}, .colour = colour};
}

// As kubectl finds it; of several files in KUBECONFIG, the first.
std::string KubeconfigFile() {
  const std::string named = Environment("KUBECONFIG");
  if (!named.empty()) return named.substr(0, named.find(':'));
  const std::string usual = Environment("HOME") + "/.kube/config";
  return std::filesystem::exists(usual) ? usual : "";
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return upgradectl::Run(argc, argv,
                         {.in = std::cin,
                          .out = std::cout,
                          .err = std::cerr,
                          .screen = ScreenOfOutput(),
                          .interactive = isatty(STDIN_FILENO) != 0,
                          .kubeconfig = KubeconfigFile()});
}
