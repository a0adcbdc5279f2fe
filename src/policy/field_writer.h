// Writes one JSON document, field by field, with the field names of policies.
#ifndef DRIVERUPGRADE_SRC_POLICY_FIELD_WRITER_H_
#define DRIVERUPGRADE_SRC_POLICY_FIELD_WRITER_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/time/time.h"
#include "base/rapidjson.h"
#include "driverupgrade/upgrade_policy.h"
#include "fmt/format.h"

namespace driverupgrade::internal {

template <std::size_t kSize, typename Enum>
std::string_view EnumName(const std::array<std::pair<std::string_view, Enum>, kSize>& names, Enum value) {
  for (const auto& [name, candidate] : names) {
    if (candidate == value) return name;
  }
  return names.front().first;
}

class FieldWriter {
 public:
  // `only_set`: omits nulls and switches that are off, so that a field which is added later does not change texts
  // without it.
  explicit FieldWriter(bool only_set = false) : only_set_(only_set) {}
  bool only_set() const { return only_set_; }

  void StartObject() { writer_.StartObject(); }
  void StartObject(std::string_view name) {
    Key(name);
    writer_.StartObject();
  }
  void EndObject() { writer_.EndObject(); }
  void StartArray(std::string_view name) {
    Key(name);
    writer_.StartArray();
  }
  void EndArray() { writer_.EndArray(); }

  // Items of an array.
  void Int(int value) { writer_.Int(value); }
  void Text(std::string_view value) {
    writer_.String(value.data(), static_cast<driverupgrade_rapidjson::SizeType>(value.size()));
  }
  void Null(std::string_view name) {
    if (only_set_) return;
    Key(name);
    writer_.Null();
  }
  void Bool(std::string_view name, bool value) {
    if (only_set_ && !value) return;
    Key(name);
    writer_.Bool(value);
  }
  void Int(std::string_view name, int value) {
    Key(name);
    writer_.Int(value);
  }
  void Int(std::string_view name, const std::optional<int>& value) { value ? Int(name, *value) : Null(name); }
  void Text(std::string_view name, std::string_view value) {
    Key(name);
    Text(value);
  }
  // Rounds up: a fraction of a second would otherwise become zero, which means no limit.
  void Seconds(std::string_view name, absl::Duration value);
  void Limit(std::string_view name, const std::optional<CountOrPercent>& limit) {
    if (!limit) return Null(name);
    if (const Count* count = std::get_if<Count>(&*limit)) return Int(name, count->value);
    Text(name, fmt::format("{}%", std::get_if<Percent>(&*limit)->value));
  }

  std::string Written() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  void Key(std::string_view name) {
    writer_.Key(name.data(), static_cast<driverupgrade_rapidjson::SizeType>(name.size()));
  }

  const bool only_set_;
  driverupgrade_rapidjson::StringBuffer buffer_;
  driverupgrade_rapidjson::Writer<driverupgrade_rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_FIELD_WRITER_H_
