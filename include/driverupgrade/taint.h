/// Defines Taint.
///
///     const Taint reserved{.key = "team", .value = "research", .effect = "NoSchedule"};
///
/// A plain value type.
#ifndef DRIVERUPGRADE_TAINT_H_
#define DRIVERUPGRADE_TAINT_H_

#include <string>

namespace driverupgrade {

/// A taint of a node with all members that the API server stores, so that the list of taints can be written as a whole.
/// Any two taints of a node differ in key or effect.
struct Taint {
  std::string key = {};
  std::string value = {};
  /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
  std::string effect = {};
  /// timeAdded as the server wrote it; empty if it is missing.
  std::string time_added = {};
  friend bool operator==(const Taint&, const Taint&) = default;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_TAINT_H_
