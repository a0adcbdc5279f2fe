// Writes a JSON document field by field, with the field names of policies.
#ifndef DRIVERUPGRADE_SRC_POLICY_FIELD_WRITER_H_
#define DRIVERUPGRADE_SRC_POLICY_FIELD_WRITER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "base/rapidjson.h"
#include "driverupgrade/upgrade_policy.h"
#include "policy/field_kinds.h"

namespace driverupgrade::internal {

class FieldWriter {
 public:
  // `only_set`: if true, the writer omits nulls and Booleans that are false. Fields that later versions add therefore
  // do not change documents in which these fields are not set.
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

  // These functions write items of an array.
  void Item(int value) { writer_.Int(value); }
  void Item(std::string_view value) {
    writer_.String(value.data(), static_cast<driverupgrade_rapidjson::SizeType>(value.size()));
  }
  void Null(std::string_view name) {
    if (only_set_) return;
    Key(name);
    writer_.Null();
  }
  void Write(std::string_view name, const Boolean&, bool value) {
    if (only_set_ && !value) return;
    Key(name);
    writer_.Bool(value);
  }
  void Write(std::string_view name, const Number&, int value) {
    Key(name);
    writer_.Int(value);
  }
  void Write(std::string_view name, const Number& kind, const std::optional<int>& value) {
    value || !kind.zero.empty() ? Write(name, kind, value.value_or(0)) : Null(name);
  }
  void Write(std::string_view name, const NumberOrPercent&, const CountOrPercent& value);
  void Write(std::string_view name, const Timeout&, absl::Duration value) { Write(name, Seconds(), value); }
  // Rounds up, because a fraction of a second would otherwise become zero, which means "no limit".
  void Write(std::string_view name, const Seconds&, absl::Duration value);
  void Write(std::string_view name, const Selector&, const LabelSelector& value) {
    Write(name, Text(), value.ToString());
  }
  void Write(std::string_view name, const Text&, std::string_view value) {
    Key(name);
    Item(value);
  }
  void Write(std::string_view name, const Names&, const std::vector<std::string>& value);
  template <typename Enum, std::size_t kSize>
  void Write(std::string_view name, const OneOf<Enum, kSize>& kind, Enum value) {
    if (only_set_ && kind.omits_default && value == kind.words.front().second) return;
    Write(name, Text(), WordOf(kind.words, value));
  }
  // Writes a field whose kind has its own Write function.
  template <typename Kind, typename T>
  requires requires(FieldWriter& writer, const Kind& kind, const T& value) { kind.Write(writer, "", value); }
  void Write(std::string_view name, const Kind& kind, const T& value) { kind.Write(*this, name, value); }
  template <typename Kind, typename T>
  void Write(std::string_view name, const Kind& kind, const std::optional<T>& value) {
    value ? Write(name, kind, *value) : Null(name);
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
