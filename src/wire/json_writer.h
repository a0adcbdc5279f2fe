// Writing JSON: RapidJSON's writer behind std types, and nothing but valid UTF-8.
#ifndef DRIVERUPGRADE_SRC_WIRE_JSON_WRITER_H_
#define DRIVERUPGRADE_SRC_WIRE_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/rapidjson.h"
#include "base/utf8.h"

namespace driverupgrade::internal {

namespace rapidjson = ::driverupgrade_rapidjson;

// Objects and arrays are written by functions, so that what is opened is closed:
//
//   JsonWriter writer;
//   writer.Object([&] { writer.Member("kind", "Node"); });
//   return writer.Take();
class JsonWriter {
 public:
  template <typename F>
  void Object(F&& members) {
    writer_.StartObject();
    std::forward<F>(members)();
    writer_.EndObject();
  }
  template <typename F>
  void Array(F&& items) {
    writer_.StartArray();
    std::forward<F>(items)();
    writer_.EndArray();
  }
  void String(std::string_view value) {
    if (ValidUtf8Size(value) < value.size()) return String(ReplaceInvalidUtf8(value));
    writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  void Key(std::string_view key) {
    if (ValidUtf8Size(key) < key.size()) return Key(ReplaceInvalidUtf8(key));
    writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }
  void Null() { writer_.Null(); }

  void Member(std::string_view key, std::string_view value) {
    Key(key);
    String(value);
  }
  // A text literal must not become a bool.
  void Member(std::string_view key, const char* value) { Member(key, std::string_view(value)); }
  void Member(std::string_view key, bool value) {
    Key(key);
    writer_.Bool(value);
  }
  void Member(std::string_view key, std::int64_t value) {
    Key(key);
    writer_.Int64(value);
  }
  void Member(std::string_view key, int value) { Member(key, std::int64_t{value}); }
  // `json` is valid JSON.
  void RawMember(std::string_view key, std::string_view json) {
    Key(key);
    writer_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  }
  template <typename F>
  void ObjectMember(std::string_view key, F&& members) {
    Key(key);
    Object(std::forward<F>(members));
  }
  template <typename F>
  void ArrayMember(std::string_view key, F&& items) {
    Key(key);
    Array(std::forward<F>(items));
  }
  // Nothing if `value` is empty, as the API server does it.
  void MemberIfAny(std::string_view key, std::string_view value) {
    if (!value.empty()) Member(key, value);
  }

  std::string Take() { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_JSON_WRITER_H_
