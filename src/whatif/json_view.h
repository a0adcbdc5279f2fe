// Reads foreign JSON: a member that is missing or of another type yields an empty result.
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

// Returns nullptr if there is nothing at `path`. Points into the document, like all results here.
const json::Value* Find(const json::Value& value, JsonPath path);
// The elements of the array at `path`.
json::Value::ConstArray Items(const json::Value& value, JsonPath path);
std::string Text(const json::Value& value, JsonPath path);
std::int64_t Integer(const json::Value& value, JsonPath path, std::int64_t otherwise = 0);
// InfinitePast if it is not an RFC 3339 time.
absl::Time TimeAt(const json::Value& value, JsonPath path);
// Without white space.
std::string Compact(const json::Value& value);

// Indented by two spaces, with a line terminator at the end.
std::string ToPrettyJson(const json::Value& value);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_JSON_VIEW_H_
