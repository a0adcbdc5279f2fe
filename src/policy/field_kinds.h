// The kinds of fields that a policy has, with their ranges. PolicySection reads a value of each kind, FieldWriter writes
// it, and FieldChecker checks its range.
#ifndef DRIVERUPGRADE_SRC_POLICY_FIELD_KINDS_H_
#define DRIVERUPGRADE_SRC_POLICY_FIELD_KINDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace driverupgrade::internal {

inline constexpr int kNumberMax = std::numeric_limits<std::int32_t>::max();

struct Boolean {};

struct Number {
  int min = 0;
  // The meaning of 0, if it has a special one. Documents then have 0 in place of a missing value, and not null.
  std::string_view zero = {};
};

struct NumberOrPercent {
  int min = 0;
};

// A time that is positive, or infinite, which is 0 in documents.
struct Timeout {
  std::string_view zero = {};
};

// A time for which 0 has no special meaning.
struct Seconds {
  int min = 0;
  int max = kNumberMax;
};

struct Selector {
  // The reason why the selector must not be empty, if it must not.
  std::string_view not_empty = {};
};

struct Text {};
struct LabelKey : Text {};

// A list of texts. A list in the document replaces the default as a whole.
struct Names {
  // Whether the list must have items, none of which is empty.
  bool required = false;
};

// The words of documents and the values that they mean. The first word is the default.
template <typename Enum, std::size_t kSize>
using Words = std::array<std::pair<std::string_view, Enum>, kSize>;

template <typename Enum, std::size_t kSize>
std::string_view WordOf(const Words<Enum, kSize>& words, Enum value) {
  for (const auto& [word, candidate] : words) {
    if (candidate == value) return word;
  }
  return words.front().first;
}

template <typename Enum, std::size_t kSize>
struct OneOf {
  constexpr explicit OneOf(const Words<Enum, kSize>& choices, bool omit_default = false)
      : words(choices), omits_default(omit_default) {}

  Words<Enum, kSize> words;
  // Whether texts of what is set (FieldWriter) omit the default.
  bool omits_default;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_FIELD_KINDS_H_
