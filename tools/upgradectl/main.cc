// Shows what one pass of an upgrade would do, from a dump of the cluster; touches nothing.
#include <iostream>

#include "upgradectl/upgradectl.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return upgradectl::Run(argc, argv, {.in = std::cin, .out = std::cout, .err = std::cerr});
}
