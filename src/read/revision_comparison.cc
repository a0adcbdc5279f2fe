#include <algorithm>
#include <string_view>

#include "absl/status/status.h"
#include "base/rapidjson.h"
#include "base/status_macros.h"
#include "driverupgrade/snapshot_builder.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

namespace rapidjson = driverupgrade_rapidjson;
using Json = rapidjson::Value;

// Maximum depth of a comparison. No real pod template is this deep. Deeper values count as different, so that the node
// is evacuated.
constexpr int kDepthMax = 64;

absl::StatusOr<rapidjson::Document> Parse(const ControllerRevision& revision) {
  if (revision.data.empty()) {
    return absl::NotFoundError(
        fmt::format("ControllerRevision {}/{}: its data is missing", revision.ns, revision.name));
  }
  rapidjson::Document document;
  // Parses iteratively, because the server determines the nesting depth. Does not request full precision, because
  // RapidJSON 1.1 would then read 0e-66 as 2.6e-85, due to undefined behavior.
  document.Parse<rapidjson::kParseIterativeFlag>(revision.data.data(), revision.data.size());
  if (document.HasParseError() || !document.IsObject()) {
    return absl::InvalidArgumentError(
        fmt::format("ControllerRevision {}/{}: its data is not a JSON object", revision.ns, revision.name));
  }
  return document;
}

Json* Member(Json* object, const char* name) {
  if (object == nullptr || !object->IsObject() || !object->HasMember(name)) return nullptr;
  return &(*object)[name];
}

// Removes the keys, and then the map if it is empty, because an empty map is equivalent to a missing map.
void Erase(Json* metadata, const char* map_name, const std::vector<std::string>& keys) {
  Json* map = Member(metadata, map_name);
  if (map == nullptr || !map->IsObject()) return;
  for (const std::string& key : keys) map->RemoveMember(key.c_str());
  if (map->ObjectEmpty()) metadata->RemoveMember(map_name);
}

bool Equal(const Json& a, const Json& b, int depth);

bool EqualObjects(const Json& a, const Json& b, int depth) {
  return a.MemberCount() == b.MemberCount() && std::all_of(a.MemberBegin(), a.MemberEnd(), [&](const auto& member) {
           const auto other = b.FindMember(member.name);
           return other != b.MemberEnd() && Equal(member.value, other->value, depth);
         });
}

bool Equal(const Json& a, const Json& b, int depth) {
  if (depth > kDepthMax || a.GetType() != b.GetType()) return false;
  if (a.IsObject()) return EqualObjects(a, b, depth + 1);
  if (!a.IsArray()) return a == b;
  return std::equal(a.Begin(), a.End(), b.Begin(), b.End(),
                    [&](const Json& one, const Json& other) { return Equal(one, other, depth + 1); });
}

}  // namespace

absl::StatusOr<bool> SameTemplate(const ControllerRevision& running, const ControllerRevision& wanted,
                                  const IgnoredKeys& ignored) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(rapidjson::Document a, Parse(running));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(rapidjson::Document b, Parse(wanted));
  for (rapidjson::Document* document : {&a, &b}) {
    Json* metadata = Member(Member(Member(document, "spec"), "template"), "metadata");
    Erase(metadata, "annotations", ignored.annotations);
    Erase(metadata, "labels", ignored.labels);
    if (metadata != nullptr && metadata->IsObject() && metadata->ObjectEmpty()) {
      Member(Member(document, "spec"), "template")->RemoveMember("metadata");
    }
  }
  return Equal(a, b, 0);
}

}  // namespace driverupgrade
