#include "upgradectl/dump_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace upgradectl {
namespace {

constexpr std::string_view kMarkOfUtf8 = "\xef\xbb\xbf";
constexpr std::size_t kBeginning = 4096;

bool IsUtf16(std::string_view text) {
  const std::string_view beginning = text.substr(0, kBeginning);
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || beginning.find('\0') != std::string_view::npos;
}

// Returns the format of text that is not JSON. Returns an empty string for possible JSON, and for unknown formats.
std::string_view FormatOf(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] == '{' || text[begin] == '[') return "";
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (line.starts_with("NAME") && line.find(':') == std::string_view::npos) return "a table";
  if (line.starts_with("---") || line.find(':') != std::string_view::npos) return "YAML";
  return "";
}

}  // namespace

absl::StatusOr<std::string> DumpText(std::string_view name, std::string text) {
  if (IsUtf16(text)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: is UTF-16, as Windows PowerShell writes it; save it as UTF-8, for example with `kubectl get ... -o json "
        "| Out-File -Encoding utf8 dump.json`",
        name));
  }
  if (std::string_view(text).starts_with(kMarkOfUtf8)) text.erase(0, kMarkOfUtf8.size());
  const std::string_view format = FormatOf(text);
  if (format.empty()) return text;
  return absl::InvalidArgumentError(
      fmt::format("{}: is {} and not JSON; print the objects with `kubectl get ... -A -o json`", name, format));
}

}  // namespace upgradectl
