// What the files of the contract share.
#ifndef DRIVERUPGRADE_SRC_TESTING_FACADE_CONTRACT_CASES_H_
#define DRIVERUPGRADE_SRC_TESTING_FACADE_CONTRACT_CASES_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/testing/facade_contract.h"
#include "fmt/format.h"

// Fails the case unless `condition` holds.
#define EXPECT_THAT(condition, found)                                                           \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      return absl::UnknownError(fmt::format("expected {}, but found {}", #condition, (found))); \
    }                                                                                           \
  } while (false)

namespace driverupgrade::inline v1::testing::internal {

/// A case, and what the facade must support for it to make sense.
struct NeededCase {
  std::string_view name;
  std::vector<Operation> operations;
  absl::Status (*run)(ContractWorld&);
};

std::vector<NeededCase> MaintenanceCases();
std::vector<NeededCase> WatchCases();
std::vector<NeededCase> LeaseCases();

inline std::string Describe(const absl::Status& status) { return status.ToString(); }
inline std::string Describe(const StringMap& map) {
  std::string text = "{";
  for (const auto& [key, value] : map) text += fmt::format(" {}={}", key, value);
  return text + " }";
}

inline std::string Describe(const std::set<std::string>& names) {
  std::string text = "{";
  for (const std::string& name : names) text += " " + name;
  return text + " }";
}

inline const char* Describe(bool value) { return value ? "true" : "false"; }

inline std::string Describe(const std::vector<std::string>& names) {
  return Describe(std::set<std::string>(names.begin(), names.end()));
}

/// Patches the node at its present version. On a real cluster others write to it as well: tries a few times.
absl::StatusOr<Node> PatchNow(ContractWorld& world, PatchNodeParams patch);

}  // namespace driverupgrade::inline v1::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FACADE_CONTRACT_CASES_H_
