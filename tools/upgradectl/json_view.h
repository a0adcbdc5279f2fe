// Formats YAML. Also imports the functions of whatif/json_view.h.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_JSON_VIEW_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_JSON_VIEW_H_

#include <string>

#include "whatif/json_view.h"

namespace upgradectl {

namespace json = ::driverupgrade_rapidjson;

using driverupgrade::whatif::Compact;
using driverupgrade::whatif::Find;
using driverupgrade::whatif::Integer;
using driverupgrade::whatif::Items;
using driverupgrade::whatif::JsonPath;
using driverupgrade::whatif::Text;
using driverupgrade::whatif::TimeAt;
using driverupgrade::whatif::ToPrettyJson;

/// Formats a JSON document as YAML, with all strings in double quotes and an indentation of two spaces.
std::string ToYaml(const json::Value& value);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_JSON_VIEW_H_
