// Reads one mapping of a policy document field by field, and collects all errors.
#ifndef DRIVERUPGRADE_SRC_POLICY_POLICY_SECTION_H_
#define DRIVERUPGRADE_SRC_POLICY_POLICY_SECTION_H_

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/upgrade_policy.h"
#include "policy/document.h"
#include "policy/field_kinds.h"

namespace driverupgrade::internal {

/// Returns the value in the form that error messages show.
std::string Describe(const DocumentValue& value);

class PolicyProblems {
 public:
  void Add(const DocumentMark& mark, std::string_view path, std::string_view problem);
  /// Returns OK, or InvalidArgument with all problems in the order of the document.
  absl::Status ToStatus() const;

 private:
  struct Problem {
    int line = 0;
    int column = 0;
    std::string text = {};
  };
  std::vector<Problem> problems_;
};

/// The defaults, time zones and problems that all sections of one document share.
struct PolicyReading {
  const PolicyDefaults& defaults;
  const TimeZoneLoader& zones;
  PolicyProblems problems = {};
};

/// Each Read leaves the output unchanged if the field is absent or invalid, and treats null as absent, as Kubernetes
/// does. It also registers the name of the field for RejectUnknown, which must be called last.
class PolicySection {
 public:
  /// `value`: a mapping, or a list. The items of a list are fields with the names `[0]`, `[1]` and so on. `value` and
  /// `reading` must outlive the section.
  PolicySection(const DocumentValue& value, std::string path, PolicyReading& reading);

  void Read(std::string_view name, const Boolean& kind, bool& value);
  /// Reads a decimal number from 0 to the largest signed 32-bit integer.
  void Read(std::string_view name, const Number& kind, int& value);
  void Read(std::string_view name, const Number& kind, std::optional<int>& value);
  void Read(std::string_view name, const NumberOrPercent& kind, CountOrPercent& value);
  void Read(std::string_view name, const Timeout& kind, absl::Duration& value);
  void Read(std::string_view name, const Seconds& kind, absl::Duration& value);
  void Read(std::string_view name, const Selector& kind, LabelSelector& value);
  void Read(std::string_view name, const Text& kind, std::string& value);
  void Read(std::string_view name, const Names& kind, std::vector<std::string>& value);
  template <typename Enum, std::size_t kSize>
  void Read(std::string_view name, const OneOf<Enum, kSize>& kind, Enum& value) {
    std::array<std::string_view, kSize> texts;
    for (std::size_t i = 0; i < kSize; ++i) texts[i] = kind.words[i].first;
    if (const auto index = ReadChoice(name, texts.data(), kSize)) value = kind.words[*index].second;
  }
  /// Reads a field whose kind has its own Read function.
  template <typename Kind, typename T>
  requires requires(PolicySection& section, const Kind& kind, T& value) { kind.Read(section, "", value); }
  void Read(std::string_view name, const Kind& kind, T& value) { kind.Read(*this, name, value); }
  template <typename Kind, typename T>
  void Read(std::string_view name, const Kind& kind, std::optional<T>& value) {
    T read = {};
    Read(name, kind, read);
    if (IsSet(name)) value = std::move(read);
  }
  /// Reads an integer (see Number), or the string `word`, which is stored as `of_word`.
  void ReadIntOr(std::string_view name, std::string_view word, int of_word, std::optional<int>& value);
  void ReadSection(std::string_view name, const std::function<void(PolicySection&)>& read);
  /// Reads a list: calls `read` with the section of the list and the name of each item, in order.
  void ReadList(std::string_view name, const std::function<void(PolicySection&, std::string_view item)>& read);

  /// Returns true if the field is present and not null.
  bool IsSet(std::string_view name) const;
  bool IsMapping(std::string_view name) const;
  void Reject(std::string_view name, std::string_view problem);
  void RejectUnknown();
  const PolicyReading& reading() const { return reading_; }

 private:
  struct Entry {
    const DocumentValue* value = nullptr;
    DocumentMark mark = {};
  };

  void AddFields(const DocumentValue& mapping);
  void AddItems(const DocumentValue& list);
  // Returns the field; nullptr if the field is absent, null or tagged.
  const DocumentValue* Take(std::string_view name);
  // Same as Take, but also returns nullptr if the value is not a string.
  const DocumentValue* TakeText(std::string_view name);
  std::optional<int> ParseInt(std::string_view name, std::string_view text);
  std::optional<std::size_t> ReadChoice(std::string_view name, const std::string_view* texts, std::size_t size);
  std::string PathOf(std::string_view name) const;

  std::string path_;
  PolicyReading& reading_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string_view> known_;
  // For a list: the keys of `entries_`, in the order of the items.
  std::vector<std::string_view> items_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_POLICY_SECTION_H_
