/// Checks an OpenShift cluster before the GPU Operator is installed or upgraded on it.
///
/// Defines Finding, Examine and IsAboveInfo. All functions are pure.
///
///     ObjectClient objects(transport);
///     absl::StatusOr<Facts> facts = Collect(context, objects, {.ns = "nvidia-gpu-operator"});
///     for (const Finding& finding : Examine(*facts)) fmt::print("{}: {}\n", finding.id, finding.what);
///
/// Example: tests/examples/operators/openshift_preflight/preflight_test.cc. The checks are based on NVIDIA's document
/// "Installation and Upgrade Overview" for the operator on OpenShift, and on doc-D35.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_PREFLIGHT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_PREFLIGHT_H_

#include <string>
#include <vector>

#include "driverupgrade/observer.h"
#include "openshift_preflight/facts.h"

namespace openshift_preflight {

using driverupgrade::Severity;

struct Finding {
  Severity severity = Severity::kInfo;
  /// Identifier of the check, for programs: `empty-imagestream-tag`. README.md lists all checks.
  std::string id = {};
  std::string what = {};
  std::string why = {};
  /// Next steps, including commands; empty if there is nothing to do.
  std::string remedy = {};
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// Returns errors first, then warnings, then notes. If the cluster is not OpenShift, returns a single note.
std::vector<Finding> Examine(const Facts& facts);

/// Returns true if a finding is a warning or an error.
bool IsAboveInfo(const std::vector<Finding>& findings);

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_PREFLIGHT_H_
