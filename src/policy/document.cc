#include "policy/document.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/rapidjson.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// YAML and JSON forbid all control characters except for line breaks and tabs. yaml-cpp treats one of the forbidden
// characters as the end of the file.
bool IsText(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= ' ' ? byte != 0x7f : c == '\n' || c == '\r' || c == '\t';
}

// Builds a value from the events of RapidJSON's reader, which stops if a function returns false.
class DocumentBuilder {
 public:
  using Ch = char;
  using Size = driverupgrade_rapidjson::SizeType;

  bool Null() { return Add(DocumentValue::Kind::kNull, false, ""); }
  bool Bool(bool value) { return Add(DocumentValue::Kind::kScalar, true, value ? "true" : "false"); }
  // With kParseNumbersAsStringsFlag, the reader passes every number to this function, as text.
  bool RawNumber(const char* text, Size size, bool) { return Add(DocumentValue::Kind::kScalar, true, {text, size}); }
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }
  bool String(const char* text, Size size, bool) { return Add(DocumentValue::Kind::kScalar, false, {text, size}); }
  bool Key(const char* text, Size size, bool) {
    open_.back().entries.push_back(
        {.name = Value(DocumentValue::Kind::kScalar, false, {text, size}), .value = DocumentValue()});
    return true;
  }
  bool StartObject() { return Open(DocumentValue::Kind::kMapping); }
  bool EndObject(Size) { return Close(); }
  bool StartArray() { return Open(DocumentValue::Kind::kList); }
  bool EndArray(Size) { return Close(); }

  DocumentValue Take() { return std::move(whole_); }
  bool too_deep() const { return too_deep_; }

 private:
  DocumentValue Value(DocumentValue::Kind kind, bool plain, std::string_view text) {
    return {.kind = kind,
            .plain = plain,
            .text = std::string(text),
            .mark = {.line = 0, .column = count_++},
            .entries = {}};
  }
  bool Add(DocumentValue::Kind kind, bool plain, std::string_view text) { return Put(Value(kind, plain, text)); }
  bool Put(DocumentValue value) {
    if (open_.empty()) {
      whole_ = std::move(value);
    } else if (open_.back().IsMapping()) {
      open_.back().entries.back().value = std::move(value);
    } else {
      open_.back().entries.push_back({.name = DocumentValue(), .value = std::move(value)});
    }
    return true;
  }
  bool Open(DocumentValue::Kind kind) {
    too_deep_ = open_.size() >= kDocumentDepthMax;
    if (!too_deep_) open_.push_back(Value(kind, false, ""));
    return !too_deep_;
  }
  bool Close() {
    DocumentValue value = std::move(open_.back());
    open_.pop_back();
    return Put(std::move(value));
  }

  std::vector<DocumentValue> open_ = {};
  DocumentValue whole_ = {};
  int count_ = 0;
  bool too_deep_ = false;
};

}  // namespace

absl::Status CheckDocumentText(std::string_view text) {
  if (text.size() > kDocumentSizeMax) {
    return absl::InvalidArgumentError(
        fmt::format("the document has {} bytes, more than the {} allowed", text.size(), kDocumentSizeMax));
  }
  if (!std::all_of(text.begin(), text.end(), IsText)) {
    return absl::InvalidArgumentError(
        "the document contains control characters; if it is UTF-16, as Windows PowerShell writes it, save it as UTF-8");
  }
  return absl::OkStatus();
}

absl::StatusOr<DocumentValue> LoadJson(std::string_view text) {
  namespace json = driverupgrade_rapidjson;
  if (absl::Status status = CheckDocumentText(text); !status.ok()) return status;
  json::MemoryStream stream(text.data(), text.size());
  json::EncodedInputStream<json::UTF8<>, json::MemoryStream> encoded(stream);
  json::Reader reader;
  DocumentBuilder builder;
  // Parses iteratively, so that deep nesting cannot exhaust the stack.
  constexpr unsigned kFlags =
      json::kParseIterativeFlag | json::kParseValidateEncodingFlag | json::kParseNumbersAsStringsFlag;
  const json::ParseResult result = reader.Parse<kFlags>(encoded, builder);
  if (builder.too_deep()) {
    return absl::InvalidArgumentError(fmt::format("nested more than {} levels deep", kDocumentDepthMax));
  }
  if (result.IsError()) {
    return absl::InvalidArgumentError(
        fmt::format("not JSON: {} at byte {}", json::GetParseError_En(result.Code()), result.Offset()));
  }
  return builder.Take();
}

}  // namespace driverupgrade::internal
