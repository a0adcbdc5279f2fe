#include "policy/policy_section.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/label_syntax.h"

namespace driverupgrade::internal {
namespace {

// Limits the size of the error message, which is shown in Events and in the status of custom resources.
constexpr std::size_t kProblemsShownMax = 50;
constexpr std::int32_t kIntMax = std::numeric_limits<std::int32_t>::max();

bool IsDigit(char c) { return '0' <= c && c <= '9'; }

// Accepts decimal numbers without a leading zero. YAML 1.1 reads a number with a leading zero as octal, YAML 1.2 as
// decimal.
bool IsDecimal(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit) && (text.size() == 1 || text.front() != '0');
}

// Returns true if Kubernetes would treat an unquoted scalar as a value other than a string.
bool IsTyped(std::string_view text) {
  if (text == "true" || text == "false") return true;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(std::min(dot + 1, text.size()));
  return !text.empty() && std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dot), IsDigit) &&
         std::all_of(fraction.begin(), fraction.end(), IsDigit);
}

char ToLower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Returns the Levenshtein distance, ignoring case.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (ToLower(a[i]) == ToLower(b[j]) ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, replaced}));
    }
  }
  return row.back();
}

// Returns the known name that was probably meant; empty if no name is similar enough.
std::string_view Nearest(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr std::size_t kPrefixSizeMin = 4;
  if (name.size() > kQuoteSizeMax) return {};
  // A name that is a prefix of a known name has priority: `timeout` means timeoutSeconds, although onTimeout has a
  // smaller distance.
  const auto longer = std::find_if(known.begin(), known.end(), [name](std::string_view candidate) {
    return candidate.substr(0, name.size()) == name;
  });
  if (name.size() >= kPrefixSizeMin && longer != known.end()) return *longer;
  std::string_view nearest;
  std::size_t distance_max = 1 + name.size() / 4;
  for (const std::string_view candidate : known) {
    const std::size_t distance = EditDistance(name, candidate);
    if (distance <= distance_max) {
      nearest = candidate;
      distance_max = distance > 0 ? distance - 1 : 0;
    }
  }
  return nearest;
}

bool IsFieldName(std::string_view text) {
  return !text.empty() && text.size() <= kQuoteSizeMax && std::all_of(text.begin(), text.end(), IsAlnum);
}

}  // namespace

std::string Describe(const DocumentValue& value) {
  switch (value.kind) {
    case DocumentValue::Kind::kMapping: return "a mapping";
    case DocumentValue::Kind::kList: return "a list";
    case DocumentValue::Kind::kNull: return "null";
    case DocumentValue::Kind::kScalar: break;
  }
  const std::string quoted = Quote(value.text);
  if (!value.plain) return fmt::format("the string {}", quoted);
  // Removes the quotes, because quotes would suggest that the value is a quoted string.
  return quoted.substr(1, quoted.size() - 2);
}

void PolicyProblems::Add(const DocumentMark& mark, std::string_view path, std::string_view problem) {
  problems_.push_back({.line = mark.line, .column = mark.column, .text = fmt::format("{}: {}", path, problem)});
}

absl::Status PolicyProblems::ToStatus() const {
  if (problems_.empty()) return absl::OkStatus();
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(sorted.size(), kProblemsShownMax); ++i) texts.push_back(sorted[i].text);
  if (sorted.size() > texts.size()) texts.push_back(fmt::format("and {} more", sorted.size() - texts.size()));
  return absl::InvalidArgumentError(fmt::format("{}", fmt::join(texts, "; ")));
}

PolicySection::PolicySection(const DocumentValue& value, std::string path, PolicyReading& reading)
    : path_(std::move(path)), reading_(reading) {
  value.IsList() ? AddItems(value) : AddFields(value);
}

void PolicySection::AddItems(const DocumentValue& list) {
  for (std::size_t i = 0; i < list.entries.size(); ++i) {
    const DocumentValue& item = list.entries[i].value;
    const auto entry = entries_.emplace(fmt::format("[{}]", i), Entry{.value = &item, .mark = item.mark}).first;
    items_.push_back(entry->first);
    // A null field counts as absent, but an item of a list must have a value.
    if (item.IsNull()) Reject(entry->first, "must not be null");
  }
}

void PolicySection::AddFields(const DocumentValue& mapping) {
  for (const auto& [name, entry] : mapping.entries) {
    if (!name.IsScalar() || !name.tag.empty()) {
      reading_.problems.Add(name.mark, path_.empty() ? "upgrade policy" : path_,
                            fmt::format("field names must be plain text, got {}", Describe(name)));
      continue;
    }
    const bool inserted = entries_.try_emplace(name.text, Entry{.value = &entry, .mark = name.mark}).second;
    // If two fields have the same name, yaml-cpp uses the first field, but most other parsers use the last field.
    if (!inserted) reading_.problems.Add(name.mark, PathOf(name.text), "duplicate field");
  }
}

void PolicySection::Read(std::string_view name, const Boolean&, bool& value) {
  const DocumentValue* entry = Take(name);
  if (entry == nullptr) return;
  const std::string_view text = entry->IsPlain() ? std::string_view(entry->text) : std::string_view();
  // Rejects yes, on, y and similar words. YAML 1.1 reads such words as Booleans, but YAML 1.2 does not, so readers
  // would disagree about the document.
  if (text != "true" && text != "false") {
    return Reject(name, fmt::format("must be true or false, got {}", Describe(*entry)));
  }
  value = text == "true";
}

std::optional<int> PolicySection::ParseInt(std::string_view name, std::string_view text) {
  std::int32_t parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (text.front() == '-') {
    Reject(name, fmt::format("must be >= 0, got {}", text));
  } else if (error != std::errc()) {
    Reject(name, fmt::format("must be <= {}, got {}", kIntMax, text));
  } else {
    return parsed;
  }
  return std::nullopt;
}

void PolicySection::Read(std::string_view name, const Number&, int& value) {
  const DocumentValue* entry = Take(name);
  if (entry == nullptr) return;
  if (!entry->IsPlain() || !IsDecimal(entry->text)) {
    return Reject(name, fmt::format("must be a decimal integer, got {}", Describe(*entry)));
  }
  if (const std::optional<int> parsed = ParseInt(name, entry->text)) value = *parsed;
}

void PolicySection::ReadIntOr(std::string_view name, std::string_view word, int of_word, std::optional<int>& value) {
  const DocumentValue* entry = Take(name);
  if (entry == nullptr) return;
  if (entry->IsScalar() && entry->text == word) {
    value = of_word;
  } else if (entry->IsPlain() && IsDecimal(entry->text)) {
    value = ParseInt(name, entry->text);
  } else {
    Reject(name, fmt::format("must be a decimal integer or {}, got {}", word, Describe(*entry)));
  }
}

void PolicySection::Read(std::string_view name, const Number& kind, std::optional<int>& value) {
  int read = value.value_or(-1);
  Read(name, kind, read);
  const bool missing = read < 0 || (read == 0 && !kind.zero.empty());
  value = missing ? std::nullopt : std::optional(read);
}

void PolicySection::Read(std::string_view name, const Timeout&, absl::Duration& value) {
  Read(name, Seconds(), value);
  if (value == absl::ZeroDuration()) value = absl::InfiniteDuration();
}

void PolicySection::Read(std::string_view name, const Seconds&, absl::Duration& value) {
  int seconds = -1;
  Read(name, Number(), seconds);
  if (seconds >= 0) value = absl::Seconds(seconds);
}

const DocumentValue* PolicySection::TakeText(std::string_view name) {
  const DocumentValue* entry = Take(name);
  if (entry == nullptr) return nullptr;
  if (entry->IsScalar() && !(entry->IsPlain() && IsTyped(entry->text))) return entry;
  Reject(name, fmt::format("must be a string, got {}", Describe(*entry)));
  return nullptr;
}

void PolicySection::Read(std::string_view name, const Text&, std::string& value) {
  if (const DocumentValue* entry = TakeText(name)) value = entry->text;
}

void PolicySection::Read(std::string_view name, const Names&, std::vector<std::string>& value) {
  std::vector<std::string> read;
  ReadList(name, [&](PolicySection& list, std::string_view item) { list.Read(item, Text(), read.emplace_back()); });
  if (IsSet(name)) value = std::move(read);
}

void PolicySection::Read(std::string_view name, const Selector&, LabelSelector& value) {
  const DocumentValue* entry = TakeText(name);
  if (entry == nullptr) return;
  absl::StatusOr<LabelSelector> parsed = LabelSelector::Parse(entry->text);
  if (!parsed.ok()) return Reject(name, Message(parsed.status()));
  value = *std::move(parsed);
}

void PolicySection::Read(std::string_view name, const NumberOrPercent&, CountOrPercent& value) {
  const DocumentValue* entry = Take(name);
  if (entry == nullptr) return;
  if (entry->IsPlain() && IsDecimal(entry->text)) {
    if (const std::optional<int> count = ParseInt(name, entry->text)) value = CountOrPercent(Count{*count});
    return;
  }
  const std::string_view text = entry->IsScalar() ? std::string_view(entry->text) : std::string_view();
  // Kubernetes also rejects a string that contains only a number (§5.3).
  if (text.empty() || text.back() != '%' || !IsDecimal(text.substr(0, text.size() - 1))) {
    return Reject(name, fmt::format("must be an integer or a percentage such as 25%, got {}", Describe(*entry)));
  }
  const std::optional<int> percent = ParseInt(name, text.substr(0, text.size() - 1));
  if (percent) value = CountOrPercent(Percent{*percent});
}

void PolicySection::ReadSection(std::string_view name, const std::function<void(PolicySection&)>& read) {
  const DocumentValue* entry = Take(name);
  if (entry == nullptr) return;
  if (!entry->IsMapping()) {
    return Reject(name, fmt::format("must be a mapping, got {}", Describe(*entry)));
  }
  PolicySection section(*entry, PathOf(name), reading_);
  read(section);
  section.RejectUnknown();
}

void PolicySection::ReadList(std::string_view name,
                             const std::function<void(PolicySection&, std::string_view item)>& read) {
  const DocumentValue* entry = Take(name);
  if (entry == nullptr) return;
  if (!entry->IsList()) {
    return Reject(name, fmt::format("must be a list, got {}", Describe(*entry)));
  }
  PolicySection list(*entry, PathOf(name), reading_);
  for (const std::string_view item : list.items_) {
    if (list.IsSet(item)) read(list, item);
  }
}

std::optional<std::size_t> PolicySection::ReadChoice(std::string_view name, const std::string_view* texts,
                                                     std::size_t size) {
  const DocumentValue* entry = Take(name);
  if (entry == nullptr) return std::nullopt;
  const std::string_view* chosen = texts + size;
  if (entry->IsScalar()) chosen = std::find(texts, texts + size, entry->text);
  if (chosen != texts + size) return static_cast<std::size_t>(chosen - texts);
  Reject(name, fmt::format("must be one of {}, got {}", fmt::join(texts, texts + size, ", "), Describe(*entry)));
  return std::nullopt;
}

bool PolicySection::IsSet(std::string_view name) const {
  const auto entry = entries_.find(name);
  return entry != entries_.end() && !entry->second.value->IsNull();
}

bool PolicySection::IsMapping(std::string_view name) const {
  const auto entry = entries_.find(name);
  return entry != entries_.end() && entry->second.value->IsMapping();
}

void PolicySection::Reject(std::string_view name, std::string_view problem) {
  reading_.problems.Add(entries_.find(name)->second.mark, PathOf(name), problem);
}

void PolicySection::RejectUnknown() {
  for (const auto& [name, entry] : entries_) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string_view nearest = Nearest(name, known_);
    reading_.problems.Add(entry.mark, PathOf(name),
                          nearest.empty() ? "unknown field" : fmt::format("unknown field (did you mean {}?)", nearest));
  }
}

const DocumentValue* PolicySection::Take(std::string_view name) {
  known_.push_back(name);
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || entry->second.value->IsNull()) return nullptr;
  if (const std::string& tag = entry->second.value->tag; !tag.empty()) {
    Reject(name, fmt::format("YAML tags are not supported, got {}", Quote(tag)));
    return nullptr;
  }
  return entry->second.value;
}

std::string PolicySection::PathOf(std::string_view name) const {
  if (!items_.empty()) return fmt::format("{}{}", path_, name);
  const std::string shown = IsFieldName(name) ? std::string(name) : Quote(name);
  return path_.empty() ? shown : fmt::format("{}.{}", path_, shown);
}

}  // namespace driverupgrade::internal
