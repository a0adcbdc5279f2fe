// Shows the progress of an upgrade, predicts its next steps, and makes the changes that administrators would otherwise
// make by hand.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "upgradectl/terminal.h"
#include "upgradectl/upgradectl.h"

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Finds the kubeconfig as kubectl does, but uses only the first file if KUBECONFIG names several.
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
                          .screen = upgradectl::ScreenOfOutput(),
                          .interactive = isatty(STDIN_FILENO) != 0,
                          .kubeconfig = KubeconfigFile()});
}
