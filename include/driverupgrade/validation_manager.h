/// Whether the pods that prove a new driver have done so.
///
/// Defines ValidationManager and Validation.
///
///     ValidationManager validation(*LabelSelector::Parse("app=nvidia-operator-validator"));
///     if (validation.Evaluate(*view.pods).passed) { /* the node is done */ }
///
/// A pure decider that Step consults: all pods are judged first, then there is one answer. Thread-safe.
#ifndef DRIVERUPGRADE_VALIDATION_MANAGER_H_
#define DRIVERUPGRADE_VALIDATION_MANAGER_H_

#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_types.h"

namespace driverupgrade {

struct Validation {
  /// There is at least one validation pod, and all are ready.
  bool passed = false;
  /// What is missing, for a person; empty if passed.
  std::string missing = {};
  friend bool operator==(const Validation&, const Validation&) = default;
};

class ValidationManager {
 public:
  explicit ValidationManager(LabelSelector selector) : selector_(std::move(selector)) {}
  /// `pods`: all pods of one node, of any namespace.
  Validation Evaluate(const std::vector<Pod>& pods) const;

 private:
  LabelSelector selector_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_VALIDATION_MANAGER_H_
