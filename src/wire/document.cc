#include "wire/document.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

namespace json = ::driverupgrade_rapidjson;

std::string_view TextOf(const json::Value& value) { return {value.GetString(), value.GetStringLength()}; }

// Returns nullopt unless the value is an array of strings.
std::optional<std::vector<std::string>> TextsOf(const json::Value& value) {
  if (!value.IsArray()) return std::nullopt;
  std::vector<std::string> texts;
  for (const json::Value& item : value.GetArray()) {
    if (!item.IsString()) return std::nullopt;
    texts.emplace_back(TextOf(item));
  }
  return texts;
}

// Parses without recursion, so that a deeply nested document cannot exhaust the stack.
absl::Status ParseJson(std::string_view name, std::string_view text, json::Document& document) {
  document.Parse<json::kParseIterativeFlag | json::kParseValidateEncodingFlag>(text.data(), text.size());
  if (!document.HasParseError()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: not valid JSON at offset {}: {}", name, document.GetErrorOffset(),
                                                json::GetParseError_En(document.GetParseError())));
}

}  // namespace

absl::StatusOr<Document> Document::Parse(std::string_view name, std::string_view text,
                                         std::initializer_list<std::string_view> known,
                                         std::initializer_list<std::string_view> more) {
  Document document{std::string(name)};
  DRIVERUPGRADE_RETURN_IF_ERROR(ParseJson(name, text, document.json_));
  DRIVERUPGRADE_RETURN_IF_ERROR(document.CheckMembers(known, more));
  return document;
}

absl::Status Document::CheckMembers(std::initializer_list<std::string_view> known,
                                    std::initializer_list<std::string_view> more) const {
  const auto is_in = [](std::initializer_list<std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!json_.IsObject()) return absl::InvalidArgumentError(fmt::format("{}: must be an object", name_));
  std::set<std::string_view> seen;
  for (const auto& member : json_.GetObject()) {
    const std::string_view name = TextOf(member.name);
    if (!is_in(known, name) && !is_in(more, name)) {
      return absl::InvalidArgumentError(fmt::format("{}: unknown member {}", name_, Quote(name)));
    }
    if (!seen.insert(name).second) return Wrong(name, "occurs twice");
  }
  return absl::OkStatus();
}

const json::Value* Document::Find(std::string_view member) const {
  const auto found = json_.FindMember(json::Value(json::StringRef(member.data(), member.size())));
  return found == json_.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

absl::Status Document::Wrong(std::string_view member, std::string_view why) const {
  return absl::InvalidArgumentError(fmt::format("{}.{}: {}", name_, member, why));
}

absl::StatusOr<std::string> Document::Text(std::string_view member) const {
  const json::Value* value = Find(member);
  if (value == nullptr) return Wrong(member, "is missing");
  if (!value->IsString()) return Wrong(member, "must be a string");
  return std::string(TextOf(*value));
}

absl::StatusOr<std::string> Document::TextOr(std::string_view member, std::string_view absent) const {
  return Has(member) ? Text(member) : std::string(absent);
}

absl::StatusOr<bool> Document::FlagOr(std::string_view member, bool absent) const {
  const json::Value* value = Find(member);
  if (value == nullptr) return absent;
  if (!value->IsBool()) return Wrong(member, "must be true or false");
  return value->GetBool();
}

absl::StatusOr<int> Document::CountOr(std::string_view member, int absent) const {
  const json::Value* value = Find(member);
  if (value == nullptr) return absent;
  if (!value->IsInt() || value->GetInt() < 0) return Wrong(member, "must be a whole number, 0 or more");
  return value->GetInt();
}

absl::StatusOr<std::int64_t> Document::Integer(std::string_view member) const {
  const json::Value* value = Find(member);
  if (value == nullptr || !value->IsInt64()) return Wrong(member, "must be a whole number");
  return value->GetInt64();
}

absl::StatusOr<std::vector<std::string>> Document::Texts(std::string_view member) const {
  const json::Value* value = Find(member);
  if (value == nullptr) return std::vector<std::string>();
  std::optional<std::vector<std::string>> texts = TextsOf(*value);
  if (!texts) return Wrong(member, "must be an array of strings");
  return *std::move(texts);
}

absl::StatusOr<std::vector<Document>> Document::Objects(std::string_view member,
                                                        std::initializer_list<std::string_view> known) const {
  std::vector<Document> objects;
  const json::Value* value = Find(member);
  if (value == nullptr) return objects;
  if (!value->IsArray()) return Wrong(member, "must be an array of objects");
  for (const json::Value& item : value->GetArray()) {
    Document document{fmt::format("{}.{}[{}]", name_, member, objects.size())};
    document.json_.CopyFrom(item, document.json_.GetAllocator());
    DRIVERUPGRADE_RETURN_IF_ERROR(document.CheckMembers(known));
    objects.push_back(std::move(document));
  }
  return objects;
}

absl::StatusOr<Document> Document::Object(std::string_view member,
                                          std::initializer_list<std::string_view> known) const {
  const json::Value* value = Find(member);
  if (value == nullptr) return Wrong(member, "is missing");
  Document document{fmt::format("{}.{}", name_, member)};
  document.json_.CopyFrom(*value, document.json_.GetAllocator());
  DRIVERUPGRADE_RETURN_IF_ERROR(document.CheckMembers(known));
  return document;
}

absl::StatusOr<std::string> Document::Embedded(std::string_view member) const {
  const json::Value* value = Find(member);
  if (value == nullptr) return Wrong(member, "is missing");
  if (value->IsString()) return std::string(TextOf(*value));
  json::StringBuffer buffer;
  json::Writer<json::StringBuffer> writer(buffer);
  value->Accept(writer);
  return std::string(buffer.GetString(), buffer.GetSize());
}

absl::StatusOr<std::vector<std::string>> ParseTexts(std::string_view name, std::string_view text) {
  json::Document document;
  DRIVERUPGRADE_RETURN_IF_ERROR(ParseJson(name, text, document));
  std::optional<std::vector<std::string>> texts = TextsOf(document);
  if (!texts) return absl::InvalidArgumentError(fmt::format("{}: must be an array of strings", name));
  return *std::move(texts);
}

}  // namespace driverupgrade::internal
