#include "scenarios/golden_file.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace driverupgrade::tests {

Rewriting RewritingWanted() {
  const char* rewrite = std::getenv("DRIVERUPGRADE_REWRITE");
  if (rewrite == nullptr || std::string_view(rewrite) != "1") return Rewriting::kOff;
  return std::getenv("CI") == nullptr ? Rewriting::kOn : Rewriting::kRefused;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

void WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace driverupgrade::tests
