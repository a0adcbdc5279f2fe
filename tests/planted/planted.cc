#include "planted.h"

#include <cstdlib>

namespace driverupgrade::planted {

std::string_view Wanted() {
  static const std::string_view wanted = [] {
    const char* name = std::getenv("DRIVERUPGRADE_PLANTED");
    return name == nullptr ? std::string_view() : std::string_view(name);
  }();
  return wanted;
}

}  // namespace driverupgrade::planted
