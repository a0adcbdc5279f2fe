// Formats the report for upgradectl that an operator's leader writes to the Lease (OptionsAnnotation).
#ifndef DRIVERUPGRADE_SRC_SERVICE_REPORTED_OPTIONS_H_
#define DRIVERUPGRADE_SRC_SERVICE_REPORTED_OPTIONS_H_

#include <string>
#include <vector>

#include "driverupgrade/service/director.h"
#include "driverupgrade/service/upgrade_service.h"

namespace driverupgrade::internal {

/// Returns one JSON object in the format that ReportedOptions describes. Options that differ between engines are left
/// out. Pure.
std::string FormatReportedOptions(const ServiceOptions& options, const std::vector<EngineSpec>& specs);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_REPORTED_OPTIONS_H_
