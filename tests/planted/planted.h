// The switch of the planted defects: each is in the sources as `if (PLANTED)`, and off unless it is asked for by name.
#ifndef DRIVERUPGRADE_TESTS_PLANTED_PLANTED_H_
#define DRIVERUPGRADE_TESTS_PLANTED_PLANTED_H_

#include <string_view>

namespace driverupgrade::planted {

// The defect that DRIVERUPGRADE_PLANTED names; empty: none.
std::string_view Wanted();

// Whether DRIVERUPGRADE_PLANTED_ASKED names a file; each defect that code asks for is a line of it, on or not.
bool NotesWhatIsAsked();
void Asked(std::string_view defect);

inline bool IsOn(std::string_view defect) {
  if (NotesWhatIsAsked()) Asked(defect);
  return defect == Wanted();
}

}  // namespace driverupgrade::planted

#endif  // DRIVERUPGRADE_TESTS_PLANTED_PLANTED_H_
