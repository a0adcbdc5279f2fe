#include "support/json.h"

#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace examples {

absl::StatusOr<rapidjson::Document> ParseJson(std::string_view text) {
  rapidjson::Document document;
  // Parses without recursion, because the text may be nested to any depth.
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (!document.HasParseError()) return document;
  return absl::InvalidArgumentError(fmt::format(
      "invalid JSON: {} at byte {}", rapidjson::GetParseError_En(document.GetParseError()), document.GetErrorOffset()));
}

std::string ToText(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

const rapidjson::Value* Find(const rapidjson::Value& value, JsonPath path) {
  const rapidjson::Value* current = &value;
  for (const char* name : path) {
    if (!current->IsObject()) return nullptr;
    const auto member = current->FindMember(name);
    if (member == current->MemberEnd()) return nullptr;
    current = &member->value;
  }
  return current;
}

rapidjson::Value::ConstArray Items(const rapidjson::Value& value, JsonPath path) {
  static const rapidjson::Value kNone(rapidjson::kArrayType);
  const rapidjson::Value* found = Find(value, path);
  return found != nullptr && found->IsArray() ? found->GetArray() : kNone.GetArray();
}

std::string Text(const rapidjson::Value& value, JsonPath path) {
  const rapidjson::Value* found = Find(value, path);
  if (found == nullptr || !found->IsString()) return {};
  return {found->GetString(), found->GetStringLength()};
}

std::int64_t Integer(const rapidjson::Value& value, JsonPath path) {
  const rapidjson::Value* found = Find(value, path);
  return found != nullptr && found->IsInt64() ? found->GetInt64() : 0;
}

bool Flag(const rapidjson::Value& value, JsonPath path) {
  const rapidjson::Value* found = Find(value, path);
  return found != nullptr && found->IsBool() && found->GetBool();
}

std::map<std::string, std::string> TextMap(const rapidjson::Value& value, JsonPath path) {
  std::map<std::string, std::string> texts;
  const rapidjson::Value* found = Find(value, path);
  if (found == nullptr || !found->IsObject()) return texts;
  for (const auto& member : found->GetObject()) {
    if (member.value.IsString())
      texts.emplace(std::string(member.name.GetString(), member.name.GetStringLength()),
                    std::string(member.value.GetString(), member.value.GetStringLength()));
  }
  return texts;
}

}  // namespace examples
