// Reads JSON with the functions of the examples, except that invalid JSON ends the test.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_JSON_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_JSON_H_

#include <string>
#include <string_view>

#include "support/json.h"

namespace driverupgrade::e2e {

using examples::Find;
using examples::Flag;
using examples::Integer;
using examples::Items;
using examples::JsonPath;
using examples::Text;
using examples::TextMap;

// Throws std::runtime_error if `text` is not exactly one JSON value. `what` is the name of `text` in the error message.
rapidjson::Document ParseJson(const std::string& text, std::string_view what);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_JSON_H_
