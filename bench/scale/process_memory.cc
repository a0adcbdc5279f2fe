#include <fstream>
#include <string>

#include "scale/scale.h"

namespace driverupgrade::bench {
namespace {

// `/proc/self/status` has lines like `VmRSS:     1234 kB`.
std::size_t StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::size_t kilobytes = 0;
    if (word == name + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

std::size_t ResidentBytes() { return StatusBytes("VmRSS"); }
std::size_t PeakResidentBytes() { return StatusBytes("VmHWM"); }
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace driverupgrade::bench
