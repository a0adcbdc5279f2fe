// Declarations that the files facade_contract*.cc share.
#ifndef DRIVERUPGRADE_SRC_TESTING_FACADE_CONTRACT_CASES_H_
#define DRIVERUPGRADE_SRC_TESTING_FACADE_CONTRACT_CASES_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/testing/facade_contract.h"
#include "fmt/format.h"

// Fails the case if `condition` is false: returns an Unknown error that contains the condition and `found`.
#define EXPECT_THAT(condition, found)                                                           \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      return absl::UnknownError(fmt::format("expected {}, but found {}", #condition, (found))); \
    }                                                                                           \
  } while (false)

namespace driverupgrade::testing::internal {

/// Alternative operations, of which the facade must support at least one.
using Need = std::vector<Operation>;

/// A case of the contract, and the operations that the case needs.
struct NeededCase {
  std::string_view name;
  std::vector<Need> needs;
  absl::Status (*run)(ContractWorld&);
};

/// ReadNode and ReadPod need one of these operations.
inline Need NodeReads() { return {Operation::kGetNode, Operation::kListNodes}; }
inline Need PodReads() { return {Operation::kGetPod, Operation::kListPods}; }

std::vector<NeededCase> ListCases();
std::vector<NeededCase> WriteCases();
std::vector<NeededCase> MaintenanceCases();
std::vector<NeededCase> DeviceCases();
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

inline constexpr char kOtherUid[] = "00000000-0000-0000-0000-000000000000";

/// Returns true if the map contains the key with this value.
inline bool Holds(const StringMap& map, const std::string& key, const std::string& value) {
  const auto found = map.find(key);
  return found != map.end() && found->second == value;
}

/// A namespace, a node, and a pod on this node.
struct ContractScene {
  std::string ns;
  Node node;
  Pod pod;
};
absl::StatusOr<ContractScene> MakeScene(ContractWorld& world);

/// Returns the object from a list without selectors; NotFound if the object is not listed.
absl::StatusOr<Node> ListedNode(ContractWorld& world, const std::string& name);
absl::StatusOr<Pod> ListedPod(ContractWorld& world, const PodRef& ref);

/// Reads the object in every way that the facade supports. Returns Unknown if get and list return different objects.
absl::StatusOr<Node> ReadNode(ContractWorld& world, const std::string& name);
absl::StatusOr<Pod> ReadPod(ContractWorld& world, const PodRef& ref);

/// Patches the node at its current version. Retries a few times, because other clients of a real cluster also write to
/// the node.
absl::StatusOr<Node> PatchNow(ContractWorld& world, PatchNodeParams patch);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FACADE_CONTRACT_CASES_H_
