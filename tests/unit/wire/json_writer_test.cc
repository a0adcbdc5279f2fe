// Tests that JsonWriter, with its fast path for plain text, writes the same bytes as RapidJSON.
#include "wire/json_writer.h"

#include <cstddef>
#include <string>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::JsonWriter;

// Returns a document with `text` as keys and values, as RapidJSON writes it. `text` must be valid UTF-8.
std::string ByRapidJson(const std::string& text) {
  internal::rapidjson::StringBuffer buffer;
  internal::rapidjson::Writer<internal::rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  for (const char* key : {"a", "b"}) {
    writer.Key(key);
    writer.String(text);
  }
  writer.Key(text.c_str());
  writer.StartArray();
  writer.String(text);
  writer.String("");
  writer.EndArray();
  writer.EndObject();
  return buffer.GetString();
}

std::string ByWriter(const std::string& text) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("a", text);
    writer.Member("b", text);
    writer.ArrayMember(text, [&] {
      writer.String(text);
      writer.String("");
    });
  });
  return writer.Take();
}

TEST_CASE("Keys and strings are written exactly as RapidJSON writes them, with any character at any position") {
  int differing = 0;
  for (int c = 1; c < 0x80; ++c) {
    for (std::size_t size = 0; size < 12; ++size) {
      for (std::size_t at = 0; at <= size; ++at) {
        const std::string text = std::string(size, 'x').insert(at, 1, static_cast<char>(c));
        differing += ByWriter(text) != ByRapidJson(text);
      }
    }
  }
  CHECK(differing == 0);
  for (const char* text : {"", "plain", "\xC3\xA9t\xC3\xA9", "\xE2\x9C\x93 \"done\"", "\xF0\x9F\x9A\x80\n"}) {
    CHECK(ByWriter(text) == ByRapidJson(text));
  }
  CHECK(ByWriter("a\xFF") == ByRapidJson("a\xEF\xBF\xBD"));
}

TEST_CASE("Raw members are written between other members") {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("a", 1);
    writer.RawMember("b", R"([{"c":null}])");
    writer.RawMember("d", "{}");
    writer.Member("e", "f");
  });
  CHECK(writer.Take() == R"({"a":1,"b":[{"c":null}],"d":{},"e":"f"})");
}

TEST_CASE("Each byte is classified in the same way at any position of a text of any length") {
  const auto is_plain = [](int c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; };
  int wrong = 0;
  for (int c = 0; c < 0x100; ++c) {
    for (std::size_t size = 0; size < 20; ++size) {
      for (std::size_t at = 0; at <= size; ++at) {
        // A space is the lowest plain character, and 0x7F is the highest.
        for (const char other : {' ', '\x7F'}) {
          const std::string text = std::string(size, other).insert(at, 1, static_cast<char>(c));
          wrong += JsonWriter::IsPlain(text) != is_plain(c);
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Texts with quotes, backslashes, control characters, or non-ASCII characters are not plain") {
  CHECK(JsonWriter::IsPlain(""));
  CHECK(JsonWriter::IsPlain("shop/web-0: 5 of 7\x7F"));
  for (const char* text : {"\"", "a\\b", "a\n", "\x1F", "\xC3\xA9", "\xFF"}) {
    INFO(text);
    CHECK_FALSE(JsonWriter::IsPlain(text));
  }
}

}  // namespace
}  // namespace driverupgrade::tests
