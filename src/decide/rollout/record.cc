#include "decide/rollout/record.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/rapidjson.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace driverupgrade::internal {
namespace {

namespace json = ::driverupgrade_rapidjson;

constexpr int kVersion = 1;
// Last second of the year 9999.
constexpr std::int64_t kSecondsMax = 253'402'300'799;

std::string_view View(const json::Value& text) { return {text.GetString(), text.GetStringLength()}; }

// Reads the members of an object, and collects the invalid members.
class Reader {
 public:
  explicit Reader(const json::Value& object) : object_(object) {}

  // Returns the member; nullptr if the member is missing or null.
  const json::Value* Find(const char* name) const {
    const auto member = object_.FindMember(name);
    return member == object_.MemberEnd() || member->value.IsNull() ? nullptr : &member->value;
  }

  void Read(const char* name, std::string& value) {
    const json::Value* read = Find(name);
    if (read == nullptr) return;
    if (!read->IsString()) return Note(name);
    value = View(*read);
  }

  void Read(const char* name, std::optional<absl::Time>& value) {
    const json::Value* read = Find(name);
    if (read == nullptr) return;
    if (!read->IsInt64() || read->GetInt64() < 0 || read->GetInt64() > kSecondsMax) return Note(name);
    value = absl::FromUnixSeconds(read->GetInt64());
  }

  void Read(const char* name, std::set<std::string>& values) {
    const json::Value* read = Find(name);
    if (read == nullptr) return;
    if (!read->IsArray()) return Note(name);
    for (const json::Value& item : read->GetArray()) {
      if (!item.IsString()) return values.clear(), Note(name);
      values.emplace(View(item));
    }
  }

  void Read(const char* name, DurationSketch& sketch) {
    const json::Value* read = Find(name);
    if (read == nullptr) return;
    if (!read->IsObject()) return Note(name);
    std::map<int, int> counts;
    for (const auto& member : read->GetObject()) {
      const std::string_view key = View(member.name);
      int step = -1;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), step);
      if (error != std::errc() || end != key.data() + key.size() || !member.value.IsInt()) return Note(name);
      counts[step] = member.value.GetInt();
    }
    sketch = DurationSketch::FromCounts(counts);
  }

  void Read(const char* name, std::map<std::string, absl::Time>& times) {
    const json::Value* read = Find(name);
    if (read == nullptr) return;
    if (!read->IsObject()) return Note(name);
    for (const auto& member : read->GetObject()) {
      if (!member.value.IsInt64() || member.value.GetInt64() < 0 || member.value.GetInt64() > kSecondsMax) {
        return times.clear(), Note(name);
      }
      times.emplace(View(member.name), absl::FromUnixSeconds(member.value.GetInt64()));
    }
  }

  void Note(const char* name) { wrong_.emplace_back(name); }
  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  const json::Value& object_;
  std::vector<std::string> wrong_;
};

// Returns true if a member occurs twice, for example after a manual merge. It is then unclear which value counts.
bool HasDuplicates(const json::Value& object) {
  std::set<std::string_view> names;
  for (const auto& member : object.GetObject()) {
    if (!names.insert(View(member.name)).second) return true;
  }
  return false;
}

std::optional<Halt> ReadHalt(Reader& record) {
  const json::Value* read = record.Find("halt");
  if (read == nullptr) return std::nullopt;
  Halt halt;
  if (read->IsObject() && !HasDuplicates(*read)) {
    Reader fields(*read);
    fields.Read("stage", halt.stage);
    fields.Read("reason", halt.reason);
    fields.Read("policy", halt.policy);
    fields.Read("seen", halt.seen);
    fields.Read("revisions", halt.revisions);
    if (fields.wrong().empty() && !halt.reason.empty()) return halt;
  }
  record.Note("halt");
  return Halt{.reason = "the rollout was halted, but the reason cannot be read"};
}

ParsedRecord Unreadable(std::string why) {
  return {.record = {.halt = Halt{.reason = fmt::format("the record of the rollout cannot be read: {}", why)}},
          .error = std::move(why)};
}

void WriteText(json::Writer<json::StringBuffer>& out, const char* name, std::string_view text) {
  out.Key(name);
  out.String(text.data(), static_cast<json::SizeType>(text.size()));
}

void WriteTime(json::Writer<json::StringBuffer>& out, const char* name, const std::optional<absl::Time>& time) {
  if (!time) return;
  out.Key(name);
  out.Int64(absl::ToUnixSeconds(*time));
}

void WriteTexts(json::Writer<json::StringBuffer>& out, const char* name, const std::set<std::string>& texts) {
  out.Key(name);
  out.StartArray();
  for (const std::string& text : texts) out.String(text);
  out.EndArray();
}

void WriteTimes(json::Writer<json::StringBuffer>& out, const char* name,
                const std::map<std::string, absl::Time>& times) {
  out.Key(name);
  out.StartObject();
  for (const auto& [key, time] : times) {
    out.Key(key.data(), static_cast<json::SizeType>(key.size()));
    out.Int64(absl::ToUnixSeconds(time));
  }
  out.EndObject();
}

}  // namespace

std::string FormatRecord(const RolloutRecord& record) {
  json::StringBuffer buffer;
  json::Writer<json::StringBuffer> out(buffer);
  out.StartObject();
  out.Key("version");
  out.Int(kVersion);
  WriteText(out, "revision", record.revision);
  WriteTime(out, "began", record.began);
  WriteText(out, "stages", record.stages);
  WriteText(out, "stage", record.stage);
  if (!record.group.empty()) WriteText(out, "group", record.group);
  if (!record.completed.empty()) WriteText(out, "completed", record.completed);
  WriteTime(out, "soakSince", record.soak_since);
  if (record.halt) {
    out.Key("halt");
    out.StartObject();
    WriteText(out, "stage", record.halt->stage);
    WriteText(out, "reason", record.halt->reason);
    WriteText(out, "policy", record.halt->policy);
    WriteTexts(out, "seen", record.halt->seen);
    WriteTexts(out, "revisions", record.halt->revisions);
    out.EndObject();
  }
  WriteTexts(out, "waived", record.waived);
  if (!record.gang_waits.empty()) WriteTimes(out, "gangWaits", record.gang_waits);
  out.Key("durations");
  out.StartObject();
  for (const auto& [step, count] : record.durations.counts()) {
    const std::string key = fmt::format("{}", step);
    out.Key(key.data(), static_cast<json::SizeType>(key.size()));
    out.Int(count);
  }
  out.EndObject();
  out.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

ParsedRecord ParseRecord(std::optional<std::string_view> text) {
  if (!text) return {};
  if (text->size() > kRecordSizeMax) return Unreadable(fmt::format("it has more than {} bytes", kRecordSizeMax));
  json::Document document;
  // Parses iteratively, so that deep nesting cannot exhaust the stack.
  document.Parse<json::kParseIterativeFlag | json::kParseValidateEncodingFlag>(text->data(), text->size());
  if (document.HasParseError()) return Unreadable(fmt::format("not valid JSON at byte {}", document.GetErrorOffset()));
  if (!document.IsObject()) return Unreadable("it is not an object");
  if (HasDuplicates(document)) return Unreadable("a member occurs twice");
  // This reference is const because clang considers comparisons with iterators of a non-const document ambiguous.
  const json::Document& root = document;
  const auto version = root.FindMember("version");
  if (version == root.MemberEnd() || !version->value.IsInt() || version->value.GetInt() != kVersion) {
    return Unreadable("its version is unknown");
  }
  ParsedRecord parsed;
  RolloutRecord& record = parsed.record;
  Reader reader(document);
  reader.Read("revision", record.revision);
  reader.Read("began", record.began);
  reader.Read("stages", record.stages);
  reader.Read("stage", record.stage);
  reader.Read("group", record.group);
  reader.Read("completed", record.completed);
  reader.Read("soakSince", record.soak_since);
  record.halt = ReadHalt(reader);
  reader.Read("waived", record.waived);
  reader.Read("gangWaits", record.gang_waits);
  reader.Read("durations", record.durations);
  if (!reader.wrong().empty()) parsed.error = fmt::format("invalid members: {}", fmt::join(reader.wrong(), ", "));
  return parsed;
}

}  // namespace driverupgrade::internal
