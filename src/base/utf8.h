// Validates, repairs and escapes UTF-8 text from unknown sources before it becomes part of JSON or of a message to
// users.
#ifndef DRIVERUPGRADE_SRC_BASE_UTF8_H_
#define DRIVERUPGRADE_SRC_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace driverupgrade::internal {

// Returns the length of the well-formed character at the start of `text` (RFC 3629: shortest form, no surrogates), or 0
// if `text` does not start with a well-formed character.
inline std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (text.empty()) return 0;
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const std::uint8_t second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return length;
}

// Returns the length in bytes of the longest well-formed prefix of `text`.
inline std::size_t ValidUtf8Size(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size()) {
    // Skips eight bytes at a time while all of them are ASCII.
    if (std::uint64_t word = 0; text.size() - size >= sizeof(word)) {
      std::memcpy(&word, text.data() + size, sizeof(word));
      if ((word & 0x8080808080808080U) == 0) {
        size += sizeof(word);
        continue;
      }
    }
    if (static_cast<std::uint8_t>(text[size]) < 0x80) {
      ++size;
      continue;
    }
    const std::size_t length = Utf8Length(text.substr(size));
    if (length == 0) break;
    size += length;
  }
  return size;
}

// Replaces each byte that is not part of a well-formed character with U+FFFD.
inline std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    result += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

// Returns the longest prefix of at most `bytes_max` bytes that does not split a character. `text` must be well-formed.
inline std::string_view CutUtf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<std::uint8_t>(text[bytes_max]) & 0xC0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

// Escapes text for error messages and logs: writes control characters (C0, DEL, C1) and invalid bytes as \xNN, so that
// foreign text can neither start a new line nor control a terminal. Truncates the result to about `bytes_max` bytes,
// followed by "...".
inline std::string EscapeForText(std::string_view text, std::size_t bytes_max) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    const auto first = static_cast<std::uint8_t>(text[0]);
    const bool control =
        first < 0x20 || first == 0x7F || (length == 2 && first == 0xC2 && static_cast<std::uint8_t>(text[1]) < 0xA0);
    const std::size_t count = length == 0 ? 1 : length;
    if (result.size() + count > bytes_max) return result + "...";
    if (length != 0 && !control) {
      result += text.substr(0, count);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const auto byte = static_cast<std::uint8_t>(text[i]);
        result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 0xF]};
      }
    }
    text.remove_prefix(count);
  }
  return result;
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_BASE_UTF8_H_
