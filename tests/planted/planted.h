// The switch for the planted defects. Each defect is in the copied sources as `if (PLANTED)`, and is off unless it is
// selected by name.
#ifndef DRIVERUPGRADE_TESTS_PLANTED_PLANTED_H_
#define DRIVERUPGRADE_TESTS_PLANTED_PLANTED_H_

#include <string_view>

namespace driverupgrade::planted {

// Returns the defect that DRIVERUPGRADE_PLANTED names, or an empty string.
std::string_view Wanted();

// Returns whether DRIVERUPGRADE_PLANTED_ASKED names a file. Each defect whose code runs is recorded in this file, even
// if the defect is off.
bool NotesWhatIsAsked();
void Asked(std::string_view defect);

inline bool IsOn(std::string_view defect) {
  if (NotesWhatIsAsked()) Asked(defect);
  return defect == Wanted();
}

}  // namespace driverupgrade::planted

#endif  // DRIVERUPGRADE_TESTS_PLANTED_PLANTED_H_
