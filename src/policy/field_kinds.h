// Defines the kinds of policy fields, with their ranges. PolicySection reads values of each kind, FieldWriter writes
// them, and FieldChecker checks their ranges.
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
  // Special meaning of 0; empty if 0 is an ordinary number. If `zero` is set, documents contain 0 instead of null for a
  // missing value.
  std::string_view zero = {};
};

struct NumberOrPercent {
  int min = 0;
};

// A positive or infinite time. Documents contain 0 for an infinite time.
struct Timeout {
  std::string_view zero = {};
};

// A time in seconds. Zero has no special meaning.
struct Seconds {
  int min = 0;
  int max = kNumberMax;
};

struct Selector {
  // Reason why the selector must not be empty; empty string if the selector may be empty.
  std::string_view not_empty = {};
};

struct Text {};
struct LabelKey : Text {};

// A list of strings. A list in the document replaces the entire default list.
struct Names {
  // True if the list must have at least one item, and no empty items.
  bool required = false;
};

// Maps each keyword allowed in a policy document to its enum value. The first keyword is the default.
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
  // True if a FieldWriter with `only_set` omits the default.
  bool omits_default;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_FIELD_KINDS_H_
