#include "planted.h"

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>

namespace driverupgrade::planted {

std::string_view Wanted() {
  static const std::string_view wanted = [] {
    const char* name = std::getenv("DRIVERUPGRADE_PLANTED");
    return name == nullptr ? std::string_view() : std::string_view(name);
  }();
  return wanted;
}

bool NotesWhatIsAsked() {
  static const bool notes = std::getenv("DRIVERUPGRADE_PLANTED_ASKED") != nullptr;
  return notes;
}

void Asked(std::string_view defect) {
  // Identifies a defect by the address of its string literal, which is fast: the calling code may run millions of
  // times.
  static thread_local std::set<const char*> known;
  if (!known.insert(defect.data()).second) return;
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  std::ofstream(std::getenv("DRIVERUPGRADE_PLANTED_ASKED"), std::ios::app) << defect << '\n';
}

}  // namespace driverupgrade::planted
