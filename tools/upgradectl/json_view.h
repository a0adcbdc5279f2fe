// Looking into JSON of others: what is missing or of another type is an empty answer.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_JSON_VIEW_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_JSON_VIEW_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/rapidjson.h"

namespace upgradectl {

namespace json = ::driverupgrade_rapidjson;

using JsonPath = std::initializer_list<const char*>;

/// nullptr if there is nothing at `path`. Points into the document, as all answers here do.
const json::Value* Find(const json::Value& value, JsonPath path);
/// The elements of the array at `path`.
json::Value::ConstArray Items(const json::Value& value, JsonPath path);
std::string Text(const json::Value& value, JsonPath path);
std::int64_t Integer(const json::Value& value, JsonPath path, std::int64_t otherwise = 0);
/// InfinitePast if it is no RFC 3339 time.
absl::Time TimeAt(const json::Value& value, JsonPath path);
/// Without white space.
std::string Compact(const json::Value& value);

/// The same document in YAML, every text in double quotes; for what people and scripts read, two spaces an indent.
std::string ToYaml(const json::Value& value);
/// With two spaces an indent, and a line end.
std::string ToPrettyJson(const json::Value& value);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_JSON_VIEW_H_
