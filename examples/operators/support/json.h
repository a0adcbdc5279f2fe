/// Simple lookups in JSON: a value that is missing or has the wrong type yields an empty result.
///
///     absl::StatusOr<rapidjson::Document> policy = examples::ParseJson(object.json);
///     if (policy.ok()) Use(examples::Text(*policy, {"spec", "driver", "version"}));
///
/// Free functions without state. Values and elements point into the document.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_JSON_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_JSON_H_

#include <rapidjson/document.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace examples {

using JsonPath = std::initializer_list<const char*>;

/// Errors: InvalidArgument with the byte position of the error.
absl::StatusOr<rapidjson::Document> ParseJson(std::string_view text);

/// Returns the JSON text without white space. Recursive, so do not use this function for documents of unknown depth.
std::string ToText(const rapidjson::Value& value);

/// Returns the value at `path`, or nullptr.
const rapidjson::Value* Find(const rapidjson::Value& value, JsonPath path);

/// Returns the elements of the array at `path`: for (const rapidjson::Value& item : Items(list, {"items"})).
rapidjson::Value::ConstArray Items(const rapidjson::Value& value, JsonPath path);

std::string Text(const rapidjson::Value& value, JsonPath path);
std::int64_t Integer(const rapidjson::Value& value, JsonPath path);
bool Flag(const rapidjson::Value& value, JsonPath path);
std::map<std::string, std::string> TextMap(const rapidjson::Value& value, JsonPath path);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_JSON_H_
