#include "planted.h"

#include <cstdlib>
#include <fstream>

namespace driverupgrade::planted {

std::string_view Wanted() {
  static const std::string_view wanted = [] {
    const char* name = std::getenv("DRIVERUPGRADE_PLANTED");
    return name == nullptr ? std::string_view() : std::string_view(name);
  }();
  return wanted;
}

bool Reached() {
  // Once is enough, and the code that asks may run millions of times.
  static const bool noted = [] {
    if (const char* file = std::getenv("DRIVERUPGRADE_PLANTED_REACHED")) std::ofstream(file) << Wanted() << '\n';
    return true;
  }();
  return noted;
}

}  // namespace driverupgrade::planted
