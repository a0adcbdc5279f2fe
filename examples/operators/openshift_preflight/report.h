/// Formats findings for users and for programs.
///
/// Defines FormatText and FormatJson. Pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_REPORT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_REPORT_H_

#include <string>
#include <vector>

#include "openshift_preflight/preflight.h"

namespace openshift_preflight {

std::string FormatText(const Facts& facts, const std::vector<Finding>& findings);

/// `{"openshift":"4.9.8","findings":[{"severity":"error","id":...,"what":...,"why":...,"do":...}]}`, on a single line.
/// The version is null if the cluster is not OpenShift.
std::string FormatJson(const Facts& facts, const std::vector<Finding>& findings);

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_REPORT_H_
