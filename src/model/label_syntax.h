// Checks the Kubernetes syntax of label keys, label values and DNS subdomains (S8, S9, S11).
#ifndef DRIVERUPGRADE_SRC_MODEL_LABEL_SYNTAX_H_
#define DRIVERUPGRADE_SRC_MODEL_LABEL_SYNTAX_H_

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace driverupgrade::internal {

inline constexpr std::size_t kDnsSubdomainSizeMax = 253;
inline constexpr std::size_t kLabelNameSizeMax = 63;

// Unlike the predicates of the C library, these functions do not depend on the locale.
inline bool IsLowerAlnum(char c) { return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9'); }
inline bool IsAlnum(char c) { return IsLowerAlnum(c) || ('A' <= c && c <= 'Z'); }

/// Returns true if the text is a valid DNS subdomain. Like Kubernetes, but unlike DNS, does not limit the length of the
/// labels between the dots.
inline bool IsDnsSubdomain(std::string_view text) {
  if (text.empty() || text.size() > kDnsSubdomainSizeMax) return false;
  char before = '.';
  for (const char c : text) {
    const bool at_edge = before == '.';
    if (c == '.' ? (at_edge || before == '-') : !(IsLowerAlnum(c) || (c == '-' && !at_edge))) return false;
    before = c;
  }
  return IsLowerAlnum(before);
}

/// Returns true if the text is valid after the `/` of a label key. This part of a key must not be empty.
inline bool IsLabelName(std::string_view text) {
  return !text.empty() && text.size() <= kLabelNameSizeMax && IsAlnum(text.front()) && IsAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

inline bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelName(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsLabelName(text.substr(slash + 1));
}

inline bool IsLabelValue(std::string_view text) { return text.empty() || IsLabelName(text); }

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_LABEL_SYNTAX_H_
