#include "docs/field_entries.h"

#include <optional>
#include <string_view>
#include <tuple>

#include "driverupgrade/policy_codec.h"
#include "policy/policy_fields.h"
#include "policy/rollout_fields.h"

namespace driverupgrade::tests {
namespace {

using namespace internal;  // NOLINT(google-build-using-namespace)

const std::array<PolicyDefaults, 3> kPresets = {PolicyDefaults{}, PolicyDefaults::GpuOperator(),
                                                PolicyDefaults::NetworkOperator()};

struct KindTexts {
  std::string schema = {};
  std::string values = {};
};

std::string Zero(std::string_view meaning) {
  return meaning.empty() ? "integer" : fmt::format("integer; **0 = {}**", meaning);
}
std::string Between(int min, int max) {
  if (max < kNumberMax) return fmt::format("integer, {} to {}", min, max);
  return min == 0 ? "integer" : fmt::format("integer >= {}", min);
}
KindTexts Integer(int min, int max, const std::string& values) {
  return {.schema = fmt::format("type: integer, minimum: {}, maximum: {}", min, max), .values = values};
}

KindTexts TextsOf(const Boolean&) { return {.schema = "type: boolean", .values = "`true`, `false`"}; }
KindTexts TextsOf(const Number& kind) {
  if (kind.zero.empty()) return Integer(kind.min, kNumberMax, Between(kind.min, kNumberMax));
  return Integer(0, kNumberMax, Zero(kind.zero));
}
KindTexts TextsOf(const Timeout& kind) { return Integer(0, kNumberMax, Zero(kind.zero)); }
KindTexts TextsOf(const Seconds& kind) { return Integer(kind.min, kind.max, Between(kind.min, kind.max)); }
KindTexts TextsOf(const NumberOrPercent& kind) {
  const std::string digits = kind.min == 0 ? "(0|[1-9][0-9]{0,8})" : "[1-9][0-9]{0,8}";
  return {.schema = fmt::format("x-kubernetes-int-or-string: true, minimum: {}, maximum: {}, pattern: '^{}%$'",
                                kind.min, kNumberMax, digits),
          .values = Between(kind.min, kNumberMax) + ", or percentage"};
}
KindTexts TextsOf(const Selector& kind) {
  return {.schema = kind.not_empty.empty() ? "type: string" : "type: string, minLength: 1", .values = "label selector"};
}
KindTexts TextsOf(const LabelKey&) {
  return {.schema =
              "type: string, minLength: 1, maxLength: 317, pattern: "
              "'^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$'",
          .values = "the key of a label"};
}
KindTexts TextsOf(const Names& kind) {
  return {.schema = kind.required ? "type: array, minItems: 1, items: {type: string, minLength: 1}"
                                  : "type: array, items: {type: string}",
          .values = "list of names"};
}
template <typename Enum, std::size_t kSize>
KindTexts TextsOf(const OneOf<Enum, kSize>& kind) {
  std::vector<std::string_view> words;
  for (const auto& [word, value] : kind.words) words.push_back(word);
  return {.schema = fmt::format("type: string, enum: [{}]", fmt::join(words, ", ")),
          .values = fmt::format("`{}`", fmt::join(words, "`, `"))};
}
// Returns empty strings for sections, and for kinds whose schema is written by hand.
template <typename Kind>
requires(!std::is_base_of_v<Seconds, Kind>) KindTexts TextsOf(const Kind&) { return {}; }

// Returns the value as JSON, in the same form as FormatUpgradePolicy.
template <typename Kind, typename Value>
std::string Json(const Kind& kind, const Value& value) {
  FieldWriter writer;
  writer.StartObject();
  writer.Write("", kind, value);
  writer.EndObject();
  const std::string object = writer.Written();
  const std::string before = R"({"":)";
  return object.substr(before.size(), object.size() - before.size() - 1);
}

template <typename Fields, typename Owner>
std::vector<FieldEntry> EntriesOf(const Fields& fields, const std::array<Owner, 3>& owners);

// Returns the fields of a value of this kind, or of its items if the value is a list.
template <typename Fields, typename Value>
std::vector<FieldEntry> FieldsOf(const Section<Fields>& kind, const std::array<Value, 3>& values) {
  return EntriesOf(kind.fields, values);
}
template <typename Fields, typename Value>
std::vector<FieldEntry> FieldsOf(const Section<Fields>& kind, const std::array<std::optional<Value>, 3>&) {
  return EntriesOf(kind.fields, std::array<Value, 3>());
}
std::vector<FieldEntry> FieldsOf(const ListOf<RolloutStage>&, const std::array<std::vector<RolloutStage>, 3>&) {
  return EntriesOf(kStageFields, std::array<RolloutStage, 3>());
}
std::vector<FieldEntry> FieldsOf(const ListOf<RolloutWindow>&, const std::array<std::vector<RolloutWindow>, 3>&) {
  return EntriesOf(kWindowFields, std::array<RolloutWindow, 3>());
}
std::vector<FieldEntry> FieldsOf(const ByClass&, const std::array<FailureBudgets, 3>&) {
  std::vector<FieldEntry> entries;
  for (const FailureClass failure : kAllFailureClasses) {
    entries.push_back({.name = std::string(ToString(failure)), .schema = TextsOf(NumberOrPercent{.min = 1}).schema});
  }
  return entries;
}
template <typename Kind, typename Value>
std::vector<FieldEntry> FieldsOf(const Kind&, const std::array<Value, 3>&) {
  return {};
}

template <typename Owner, typename Value, typename Kind>
FieldEntry EntryOf(const Field<Owner, Value, Kind>& field, const std::array<Owner, 3>& owners) {
  const KindTexts texts = TextsOf(field.kind);
  const auto& member = field.member;
  FieldEntry entry{.name = std::string(field.name), .schema = texts.schema, .values = texts.values, .doc = field.doc};
  for (std::size_t i = 0; i < owners.size(); ++i) entry.defaults[i] = Json(field.kind, owners[i].*member);
  entry.fields = FieldsOf(field.kind, std::array<Value, 3>{owners[0].*member, owners[1].*member, owners[2].*member});
  entry.is_list = std::is_same_v<Kind, ListOf<RolloutStage>> || std::is_same_v<Kind, ListOf<RolloutWindow>>;
  return entry;
}
template <typename Owner>
FieldEntry EntryOf(const ByHand& field, const std::array<Owner, 3>&) {
  return {.name = std::string(field.name), .defaults = {"null", "null", "null"}, .doc = field.doc};
}
FieldEntry EntryOf(const DrainField& field, const std::array<UpgradePolicy, 3>&) {
  FieldEntry entry{.name = std::string(field.name)};
  entry.fields = EntriesOf(kDrainFields, std::array<DrainPolicy, 3>());
  FieldEntry& enable = entry.fields.front();
  enable.schema = TextsOf(Boolean()).schema;
  enable.values = TextsOf(Boolean()).values;
  for (std::size_t i = 0; i < kPresets.size(); ++i) enable.defaults[i] = Json(Boolean(), kPresets[i].drain_enable);
  return entry;
}

template <typename Fields, typename Owner>
std::vector<FieldEntry> EntriesOf(const Fields& fields, const std::array<Owner, 3>& owners) {
  std::vector<FieldEntry> entries;
  std::apply([&](const auto&... field) { (entries.push_back(EntryOf(field, owners)), ...); }, fields);
  // An entry without a name is a check that covers several fields.
  std::erase_if(entries, [](const FieldEntry& entry) { return entry.name.empty(); });
  return entries;
}

}  // namespace

std::vector<FieldEntry> PolicyFieldEntries() {
  std::array<UpgradePolicy, 3> policies;
  for (std::size_t i = 0; i < kPresets.size(); ++i) policies[i] = ParseUpgradePolicyJson("{}", kPresets[i]).value();
  return EntriesOf(kPolicyFields, policies);
}

}  // namespace driverupgrade::tests
