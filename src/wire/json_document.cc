#include "wire/json_document.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <map>

#include "base/utf8.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// Maximum length of a key in a path, which is enough for the significant part of any label key.
constexpr std::size_t kKeyBytesMax = 80;

// Number of extra bytes after the text. The parser reads sixteen bytes or a whole UTF-8 character at a time, even
// beyond the end of the text.
constexpr std::size_t kReadBeyondEnd = 16;

// Builds a document with only the wanted members. Stops the parser if the nesting is too deep, because a document is
// freed and copied recursively.
class Keeper {
 public:
  using Ch = char;
  using SizeType = rapidjson::SizeType;
  Keeper(rapidjson::Document& next, WantedMembers wanted) : next_(next), below_(wanted) {}

  bool Null() { return Skips() || next_.Null(); }
  bool Bool(bool value) { return Skips() || next_.Bool(value); }
  bool Int(int value) { return Skips() || next_.Int(value); }
  bool Uint(unsigned value) { return Skips() || next_.Uint(value); }
  bool Int64(std::int64_t value) { return Skips() || next_.Int64(value); }
  bool Uint64(std::uint64_t value) { return Skips() || next_.Uint64(value); }
  bool Double(double value) { return Skips() || next_.Double(value); }
  bool RawNumber(const char* text, SizeType length, bool copy) {
    return Skips() || next_.RawNumber(text, length, copy);
  }
  bool String(const char* text, SizeType length, bool copy) { return Skips() || next_.String(text, length, copy); }

  bool Key(const char* text, SizeType length, bool copy) {
    if (skipped_depth_ > 0) return true;
    Level& level = levels_[depth_];
    if (!level.wanted.empty()) {
      const WantedMember* found = Find(level.wanted, {text, length});
      skips_value_ = found == nullptr;
      if (skips_value_) return true;
      below_ = {found->members, found->count};
    }
    ++level.kept;
    return next_.Key(text, length, copy);
  }
  bool StartObject() { return Enter(below_) && (skipped_depth_ > 0 || next_.StartObject()); }
  bool EndObject(SizeType) { return Leave() || next_.EndObject(levels_[depth_ + 1].kept); }
  bool StartArray() { return Enter(below_) && (skipped_depth_ > 0 || next_.StartArray()); }
  bool EndArray(SizeType count) { return Leave() || next_.EndArray(count); }

 private:
  struct Level {
    WantedMembers wanted = {};  // for the object, or the objects in the array; empty: all
    SizeType kept = 0;
  };

  static const WantedMember* Find(WantedMembers wanted, std::string_view key) {
    for (const WantedMember& member : wanted) {
      if (member.key == key || member.key.empty()) return &member;
    }
    return nullptr;
  }

  // Returns true if a value that is neither an object nor an array must be skipped.
  bool Skips() {
    const bool skips = skipped_depth_ > 0 || skips_value_;
    skips_value_ = false;
    return skips;
  }
  bool Enter(WantedMembers wanted) {
    if (++depth_ > JsonDocument::kDepthMax) return false;
    if (skipped_depth_ > 0 || skips_value_) {
      skips_value_ = false;
      ++skipped_depth_;
    } else {
      levels_[depth_] = {.wanted = wanted};
    }
    return true;
  }
  // Closes the innermost object or array. Returns true if this object or array was skipped.
  bool Leave() {
    --depth_;
    below_ = levels_[depth_].wanted;
    if (skipped_depth_ == 0) return false;
    --skipped_depth_;
    return true;
  }

  rapidjson::Document& next_;
  Level levels_[JsonDocument::kDepthMax + 1];
  WantedMembers below_;  // for the object or array that starts next
  int depth_ = 0;
  int skipped_depth_ = 0;  // number of open objects and arrays that are skipped
  bool skips_value_ = false;
};

// The argument of Document::Populate: a function object that generates the events of a document.
struct Generator {
  char* text;
  WantedMembers wanted;
  bool is_utf8;
  rapidjson::ParseResult result;

  bool operator()(rapidjson::Document& document) {
    // Omits kParseFullPrecisionFlag, because RapidJSON 1.1 would then read 0e-66 as 2.6e-85 due to undefined behavior.
    // Omits kParseIterativeFlag, because iterative parsing costs a quarter more time and Keeper bounds the recursion.
    constexpr unsigned kFlags = rapidjson::kParseInsituFlag;
    rapidjson::InsituStringStream stream(text);
    rapidjson::Reader reader;
    Keeper keeper(document, wanted);
    // If the whole text is valid UTF-8, the parser need not check each character. Otherwise, the parser finds the
    // position of the error.
    result = is_utf8 ? reader.Parse<kFlags>(stream, keeper)
                     : reader.Parse<kFlags | rapidjson::kParseValidateEncodingFlag>(stream, keeper);
    return !result.IsError();
  }
};

std::string Describe(rapidjson::ParseErrorCode code) {
  if (code == rapidjson::kParseErrorTermination) {
    return fmt::format("nested deeper than {} levels", JsonDocument::kDepthMax);
  }
  std::string text = rapidjson::GetParseError_En(code);
  if (!text.empty() && text.back() == '.') text.pop_back();
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

// Returns the position of the first character in the range 0x18 to 0x1F, which JSON never contains, or the size of the
// text. RapidJSON 1.1 accepts six of these characters in the parts of a text that it reads sixteen bytes at a time.
// Memory addresses determine which parts these are.
std::size_t FindControlCharacter(std::string_view text) {
  constexpr std::uint64_t kEach = 0x0101010101010101U;
  std::size_t at = 0;
  for (; text.size() - at >= sizeof(std::uint64_t); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof(word));
    // Turns every byte in this range into zero, and then finds a zero byte as strlen does.
    const std::uint64_t zeroed = (word & (kEach * 0xF8)) ^ (kEach * 0x18);
    if (((zeroed - kEach) & ~zeroed & (kEach * 0x80)) != 0) break;
  }
  while (at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xF8) != 0x18) ++at;
  return at;
}

std::string_view TypeName(const rapidjson::Value& value) {
  if (value.IsObject()) return "an object";
  if (value.IsArray()) return "an array";
  if (value.IsString()) return "a string";
  if (value.IsNumber()) return "a number";
  return value.IsBool() ? "a boolean" : "null";
}

// 64-bit FNV-1a.
class Hasher {
 public:
  void Add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  template <typename T>
  void AddNumber(char kind, T number) {
    char bytes[1 + sizeof(number)] = {kind};
    std::memcpy(bytes + 1, &number, sizeof(number));
    Add({bytes, sizeof(bytes)});
  }
  void AddText(std::string_view text) {
    AddNumber('s', std::uint64_t{text.size()});
    Add(text);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// The recursion is bounded, because parsing has checked the depth.
void Hash(const rapidjson::Value& value, std::string_view left_out, Hasher& hasher) {
  if (value.IsObject()) {
    std::map<std::string_view, const rapidjson::Value*> members;
    for (const auto& member : value.GetObject()) {
      const std::string_view key(member.name.GetString(), member.name.GetStringLength());
      if (!member.value.IsNull() && key != left_out) members.insert_or_assign(key, &member.value);
    }
    hasher.AddNumber('o', std::uint64_t{members.size()});
    for (const auto& [key, member] : members) {
      hasher.AddText(key);
      Hash(*member, left_out, hasher);
    }
  } else if (value.IsArray()) {
    hasher.AddNumber('a', std::uint64_t{value.Size()});
    for (const rapidjson::Value& item : value.GetArray()) Hash(item, left_out, hasher);
  } else if (value.IsString()) {
    hasher.AddText({value.GetString(), value.GetStringLength()});
  } else if (value.IsInt64()) {
    hasher.AddNumber('i', value.GetInt64());
  } else if (value.IsNumber()) {
    hasher.AddNumber('d', value.GetDouble());
  } else {
    hasher.Add(value.IsNull() ? "n" : value.IsTrue() ? "t" : "f");
  }
}

}  // namespace

absl::Status JsonDocument::Parse(std::string_view text, WantedMembers wanted) {
  // The parser would treat a NUL as the end of the text, and ignore the rest.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return absl::InvalidArgumentError(fmt::format("malformed JSON at byte {}: NUL", nul));
  }
  if (const std::size_t at = FindControlCharacter(text); at < text.size()) {
    return absl::InvalidArgumentError(
        fmt::format("malformed JSON at byte {}: control character {:#04x}", at, text[at]));
  }
  text_.reserve(text.size() + kReadBeyondEnd);
  text_.assign(text).append(kReadBeyondEnd, '\0');
  Generator generator{
      .text = text_.data(), .wanted = wanted, .is_utf8 = ValidUtf8Size(text) == text.size(), .result = {}};
  document_.Populate(generator);
  if (!generator.result.IsError()) return absl::OkStatus();
  const rapidjson::ParseErrorCode code = generator.result.Code();
  // The offset is one too high, because Keeper stops the parser only after the bracket.
  const std::size_t taken = code == rapidjson::kParseErrorTermination ? 1 : 0;
  return absl::InvalidArgumentError(
      fmt::format("malformed JSON at byte {}: {}", generator.result.Offset() - taken, Describe(code)));
}

JsonField JsonField::Member(std::string_view key) const& {
  const rapidjson::Value* found = nullptr;
  if (Is(rapidjson::kObjectType, "an object")) {
    // Searches backwards, because the last of several equal keys counts.
    for (auto it = value_->MemberEnd(); it != value_->MemberBegin() && found == nullptr;) {
      --it;
      if (std::string_view(it->name.GetString(), it->name.GetStringLength()) == key) found = &it->value;
    }
  }
  return JsonField(found, *this, key, 0);
}

std::string JsonField::String() const {
  if (!Is(rapidjson::kStringType, "a string")) return {};
  return {value_->GetString(), value_->GetStringLength()};
}

bool JsonField::Bool() const {
  if (!present()) return false;
  if (!value_->IsBool()) Fail(fmt::format("expected a boolean, got {}", TypeName(*value_)));
  return value_->IsTrue();
}

std::int64_t JsonField::Int64() const {
  if (!Is(rapidjson::kNumberType, "an integer")) return 0;
  if (value_->IsInt64()) return value_->GetInt64();
  Fail(value_->IsUint64() ? "integer out of range" : "expected an integer");
  return 0;
}

int JsonField::Int() const {
  const std::int64_t value = Int64();
  if (value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max()) {
    return static_cast<int>(value);
  }
  Fail("integer out of range");
  return 0;
}

StringMap JsonField::Strings() const {
  StringMap result;
  ForEachMember(
      [&](std::string_view key, const JsonField& value) { result.insert_or_assign(std::string(key), value.String()); });
  return result;
}

std::string JsonField::Json() const {
  if (!present()) return {};
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  // Writing is recursive, like copying and freeing, but parsing has checked the depth.
  value_->Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::uint64_t JsonField::Digest(std::string_view left_out) const {
  if (!present()) return 0;
  Hasher hasher;
  Hash(*value_, left_out, hasher);
  return hasher.value();
}

void JsonField::Fail(std::string_view what) const {
  if (!error_.empty()) return;
  const std::string path = Path();
  error_ = path.empty() ? std::string(what) : fmt::format("{}: {}", path, what);
}

bool JsonField::Is(rapidjson::Type type, std::string_view expected) const {
  if (!present()) return false;
  if (value_->GetType() == type) return true;
  Fail(fmt::format("expected {}, got {}", expected, TypeName(*value_)));
  return false;
}

std::string JsonField::Path() const {
  if (parent_ == nullptr) return {};
  std::string path = parent_->Path();
  if (key_.data() == nullptr) return path + fmt::format("[{}]", index_);
  const bool plain = key_.find_first_of("./[\"") == std::string_view::npos && !key_.empty();
  const std::string key = EscapeForText(key_, kKeyBytesMax);
  if (!plain) return path + fmt::format("[\"{}\"]", key);
  return path.empty() ? key : path + "." + key;
}

}  // namespace driverupgrade::internal
