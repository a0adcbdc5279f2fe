// A field table lists the fields of one struct in the order in which they are read, written and checked. Each entry has
// a name, a member, a kind, and texts for the documentation:
//
//     inline constexpr std::tuple kRetryFields(
//         Field("maxAttempts", &RetryPolicy::max_attempts, Number{.zero = "none"}, {.meaning = "number of retries"}),
//         Field("backoffSeconds", &RetryPolicy::backoff, Timeout{.zero = "never"}));
//     ReadFields(kRetryFields, section, policy.retry);
//
// The schemas of custom resources and the tables in docs/policy.md are generated from these entries.
#ifndef DRIVERUPGRADE_SRC_POLICY_FIELD_TABLE_H_
#define DRIVERUPGRADE_SRC_POLICY_FIELD_TABLE_H_

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fmt/format.h"
#include "policy/field_checker.h"
#include "policy/field_kinds.h"
#include "policy/field_writer.h"
#include "policy/policy_section.h"

namespace driverupgrade::internal {

// Texts for the documentation. docs/policy.md has no row for a field without `meaning`.
struct FieldDoc {
  std::string_view meaning = {};
  std::string_view advice = {};
  // `values` replaces the description of values that is derived from the kind. `fallback` replaces the default that is
  // derived from the struct.
  std::string_view values = {};
  std::string_view fallback = {};
  // The `description` of the field in the CRDs.
  std::string_view description = {};
};

template <typename Fields, typename Owner>
void ReadFields(const Fields& fields, PolicySection& section, Owner& owner) {
  std::apply([&](const auto&... field) { (field.Read(section, owner), ...); }, fields);
}
template <typename Fields, typename Owner>
void WriteFields(const Fields& fields, const Owner& owner, FieldWriter& out) {
  std::apply([&](const auto&... field) { (field.Write(owner, out), ...); }, fields);
}
// Checks the fields of `owner`. `path`: path of the section; empty for the whole policy.
template <typename Fields, typename Owner>
void CheckFields(const Fields& fields, const std::string& path, const Owner& owner, FieldChecker& checker) {
  std::apply([&](const auto&... field) { (field.Check(path, owner, checker), ...); }, fields);
}

// A field that is stored in one member.
template <typename Owner, typename Value, typename Kind>
struct Field {
  constexpr Field(std::string_view field_name, Value Owner::*field_member, Kind field_kind, FieldDoc field_doc = {})
      : name(field_name), member(field_member), kind(field_kind), doc(field_doc) {}

  // Allows the field only if `condition` is true. `problem`: the error if the field is set although `condition` is
  // false.
  constexpr Field OnlyIf(bool (*condition)(const Owner&), std::string_view problem) const {
    Field field = *this;
    field.allowed = condition;
    field.not_allowed = problem;
    return field;
  }

  void Read(PolicySection& section, Owner& owner) const {
    section.Read(name, kind, owner.*member);
    if (allowed != nullptr && section.IsSet(name) && !allowed(owner)) section.Reject(name, not_allowed);
  }
  void Write(const Owner& owner, FieldWriter& out) const {
    if (allowed == nullptr || allowed(owner)) out.Write(name, kind, owner.*member);
  }
  void Check(const std::string& path, const Owner& owner, FieldChecker& checker) const {
    checker.Check(path.empty() ? std::string(name) : fmt::format("{}.{}", path, name), kind, owner.*member);
  }

  std::string_view name;
  Value Owner::*member;
  Kind kind;
  FieldDoc doc;
  bool (*allowed)(const Owner&) = nullptr;
  std::string_view not_allowed = {};
};

// A field that ReadFields, WriteFields and CheckFields skip, because the field's section has its own code for it.
struct ByHand {
  constexpr explicit ByHand(std::string_view field_name, FieldDoc field_doc = {}) : name(field_name), doc(field_doc) {}
  void Read(PolicySection&, const auto&) const {}
  void Write(const auto&, FieldWriter&) const {}
  void Check(const std::string&, const auto&, FieldChecker&) const {}

  std::string_view name;
  FieldDoc doc;
};

// A table entry that is not a field, but checks several fields together.
template <typename Owner>
struct CrossCheck : ByHand {
  constexpr explicit CrossCheck(void (*function)(const Owner&, FieldChecker&)) : ByHand(""), check(function) {}
  void Check(const std::string&, const Owner& owner, FieldChecker& checker) const { check(owner, checker); }

  void (*check)(const Owner&, FieldChecker&);
};

// The kind of a mapping whose fields are listed in another table.
template <typename Fields>
struct Section {
  constexpr explicit Section(const Fields& table, bool null_by_default = false)
      : fields(table), writes_null(null_by_default) {}

  template <typename Owner>
  void Read(PolicySection& section, std::string_view name, Owner& value) const {
    section.ReadSection(name, [&](PolicySection& inner) { ReadFields(fields, inner, value); });
  }
  template <typename Owner>
  void Write(FieldWriter& out, std::string_view name, const Owner& value) const {
    if (writes_null && value == Owner()) return out.Null(name);
    out.StartObject(name);
    WriteFields(fields, value, out);
    out.EndObject();
  }
  template <typename Owner>
  void Check(FieldChecker& checker, const std::string& path, const Owner& value) const {
    CheckFields(fields, path, value, checker);
  }

  const Fields& fields;
  // True if a section with only default values is written as null.
  bool writes_null;
};

// The kind of a list. Overloads of ReadItem, WriteItem and CheckItems handle the items.
template <typename Item>
struct ListOf {
  // True if a FieldWriter with `only_set` omits an empty list.
  bool omits_empty = false;
  // Reason why the list must not be empty; empty string if the list may be empty. If the reason is set, a list without
  // items is written as null.
  std::string_view not_empty = {};

  void Read(PolicySection& section, std::string_view name, std::vector<Item>& value) const {
    section.ReadList(name,
                     [&](PolicySection& list, std::string_view item) { ReadItem(list, item, value.emplace_back()); });
    if (not_empty.empty() || !section.IsSet(name) || !value.empty()) return;
    section.Reject(name, fmt::format("must not be empty: {}", not_empty));
  }
  void Write(FieldWriter& out, std::string_view name, const std::vector<Item>& value) const {
    if (value.empty() && !not_empty.empty()) return out.Null(name);
    if (value.empty() && omits_empty && out.only_set()) return;
    out.StartArray(name);
    for (const Item& item : value) WriteItem(item, out);
    out.EndArray();
  }
  void Check(FieldChecker& checker, const std::string& path, const std::vector<Item>& value) const {
    CheckItems(path, value, checker);
  }
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_FIELD_TABLE_H_
