#include "upgradectl/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace upgradectl {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Screen ScreenOfOutput() {
  if (isatty(STDOUT_FILENO) == 0) return {};
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  // Any non-empty value turns colors off (https://no-color.org).
  const bool colour = Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
  return {.columns = known ? std::size_t{size.ws_col} : std::size_t{80}, .colour = colour};
}

}  // namespace upgradectl
