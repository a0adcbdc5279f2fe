#include "whatif/json_view.h"

// clang-format off: base/rapidjson.h must come first, because the next header uses its settings.
#include <rapidjson/prettywriter.h>
// clang-format on

namespace driverupgrade::whatif {

const json::Value* Find(const json::Value& value, JsonPath path) {
  const json::Value* current = &value;
  for (const char* name : path) {
    if (!current->IsObject()) return nullptr;
    const auto member = current->FindMember(name);
    if (member == current->MemberEnd()) return nullptr;
    current = &member->value;
  }
  return current;
}

json::Value::ConstArray Items(const json::Value& value, JsonPath path) {
  static const json::Value kNone(json::kArrayType);
  const json::Value* found = Find(value, path);
  return found != nullptr && found->IsArray() ? found->GetArray() : kNone.GetArray();
}

std::string Text(const json::Value& value, JsonPath path) {
  const json::Value* found = Find(value, path);
  if (found == nullptr || !found->IsString()) return {};
  return {found->GetString(), found->GetStringLength()};
}

std::int64_t Integer(const json::Value& value, JsonPath path, std::int64_t otherwise) {
  const json::Value* found = Find(value, path);
  return found != nullptr && found->IsInt64() ? found->GetInt64() : otherwise;
}

absl::Time TimeAt(const json::Value& value, JsonPath path) {
  absl::Time time;
  std::string error;
  return absl::ParseTime(absl::RFC3339_full, Text(value, path), &time, &error) ? time : absl::InfinitePast();
}

std::string Compact(const json::Value& value) {
  json::StringBuffer buffer;
  json::Writer<json::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string ToPrettyJson(const json::Value& value) {
  json::StringBuffer buffer;
  json::PrettyWriter<json::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 2);
  value.Accept(writer);
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace driverupgrade::whatif
