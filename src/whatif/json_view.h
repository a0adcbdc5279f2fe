// Reads untrusted JSON. A member that is missing or has another type reads as empty.
#ifndef DRIVERUPGRADE_SRC_WHATIF_JSON_VIEW_H_
#define DRIVERUPGRADE_SRC_WHATIF_JSON_VIEW_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/rapidjson.h"

namespace driverupgrade::whatif {

namespace json = ::driverupgrade_rapidjson;

using JsonPath = std::initializer_list<const char*>;

// Returns nullptr if there is no value at `path`. Like all pointers and ranges returned here, the result points into
// the document.
const json::Value* Find(const json::Value& value, JsonPath path);
// Returns the elements of the array at `path`.
json::Value::ConstArray Items(const json::Value& value, JsonPath path);
std::string Text(const json::Value& value, JsonPath path);
std::int64_t Integer(const json::Value& value, JsonPath path, std::int64_t otherwise = 0);
// Returns InfinitePast if the value is not an RFC 3339 time.
absl::Time TimeAt(const json::Value& value, JsonPath path);
// Returns JSON without white space.
std::string Compact(const json::Value& value);

// Returns JSON that is indented by two spaces and ends with a line terminator.
std::string ToPrettyJson(const json::Value& value);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_JSON_VIEW_H_
