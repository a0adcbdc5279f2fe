// Writes JSON with RapidJSON. Takes standard library types, and always writes valid UTF-8.
#ifndef DRIVERUPGRADE_SRC_WIRE_JSON_WRITER_H_
#define DRIVERUPGRADE_SRC_WIRE_JSON_WRITER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/rapidjson.h"
#include "base/utf8.h"

namespace driverupgrade::internal {

namespace rapidjson = ::driverupgrade_rapidjson;

// The caller passes functions that write the contents of objects and arrays, so that every object and array is closed:
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
    if (IsPlain(value)) return Quoted(value);
    if (ValidUtf8Size(value) < value.size()) return String(ReplaceInvalidUtf8(value));
    writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  void Key(std::string_view key) {
    if (IsPlain(key)) return Quoted(key);
    if (ValidUtf8Size(key) < key.size()) return Key(ReplaceInvalidUtf8(key));
    writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }
  void Null() { writer_.Null(); }

  void Member(std::string_view key, std::string_view value) {
    Key(key);
    String(value);
  }
  // Prevents the conversion of a string literal to bool.
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
  // `json` must be valid JSON.
  void RawMember(std::string_view key, std::string_view json) {
    Key(key);
    Raw(json, rapidjson::kObjectType);
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
  // Writes nothing if `value` is empty, like the API server.
  void MemberIfAny(std::string_view key, std::string_view value) {
    if (!value.empty()) Member(key, value);
  }

  std::string Take() { return {buffer_.GetString(), buffer_.GetSize()}; }

  // Returns true if `text` is ASCII without characters that JSON escapes.
  static bool IsPlain(std::string_view text) {
    if (text.size() >= sizeof(std::uint64_t)) return IsPlainIn<std::uint64_t>(text);
    if (text.size() >= sizeof(std::uint32_t)) return IsPlainIn<std::uint32_t>(text);
    return std::all_of(text.begin(), text.end(), [](char c) { return ArePlain(static_cast<std::uint8_t>(c)); });
  }

 private:
  // Returns true if every byte of `word` is a plain character. Subtracting n from each byte sets the highest bit of a
  // byte below n; a borrow from such a byte can change other bytes, but not the result.
  template <typename Word>
  static bool ArePlain(Word word) {
    constexpr Word kOnes = std::numeric_limits<Word>::max() / 0xFF;
    const auto has_below = [&](Word bytes, Word n) { return (bytes - kOnes * n) & ~bytes; };
    const Word odd =
        word | has_below(word, 0x20) | has_below(word ^ (kOnes * '"'), 1) | has_below(word ^ (kOnes * '\\'), 1);
    return (odd & (kOnes * 0x80)) == 0;
  }
  // Checks a word at a time; the last two words may overlap. `text` must have at least one word.
  template <typename Word>
  static bool IsPlainIn(std::string_view text) {
    const auto is_plain_at = [&](std::size_t at) {
      Word word;
      std::memcpy(&word, text.data() + at, sizeof(word));
      return ArePlain(word);
    };
    const std::size_t last = text.size() - sizeof(Word);
    for (std::size_t at = 0; at < last; at += sizeof(Word)) {
      if (!is_plain_at(at)) return false;
    }
    return is_plain_at(last);
  }
  // Writes a key or a string faster than RapidJSON, which copies byte by byte.
  void Quoted(std::string_view plain) {
    writer_.RawValue("", 0, rapidjson::kStringType);
    char* place = buffer_.Push(plain.size() + 2);
    *place = '"';
    std::copy(plain.begin(), plain.end(), place + 1);
    place[plain.size() + 1] = '"';
  }
  void Raw(std::string_view json, rapidjson::Type type) {
    writer_.RawValue("", 0, type);
    std::copy(json.begin(), json.end(), buffer_.Push(json.size()));
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_JSON_WRITER_H_
