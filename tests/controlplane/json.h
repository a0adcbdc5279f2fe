// Looking into JSON without surprises: what is missing or of another type is an empty answer.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_JSON_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_JSON_H_

#include <rapidjson/document.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace driverupgrade::e2e {

using JsonPath = std::initializer_list<const char*>;

// Throws std::runtime_error if `text` is not one JSON value. `what` names it in the message.
rapidjson::Document ParseJson(const std::string& text, std::string_view what);

// The value at `path`, or nullptr.
const rapidjson::Value* Find(const rapidjson::Value& value, JsonPath path);

// The elements of the array at `path`: for (const rapidjson::Value& item : Items(list, {"items"})).
rapidjson::Value::ConstArray Items(const rapidjson::Value& value, JsonPath path);

std::string Text(const rapidjson::Value& value, JsonPath path);
std::int64_t Integer(const rapidjson::Value& value, JsonPath path);
bool Flag(const rapidjson::Value& value, JsonPath path);
std::map<std::string, std::string> TextMap(const rapidjson::Value& value, JsonPath path);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_JSON_H_
