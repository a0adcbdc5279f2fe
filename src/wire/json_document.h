// Reads untrusted JSON. The parser limits the nesting depth, and errors contain the path of the field.
#ifndef DRIVERUPGRADE_SRC_WIRE_JSON_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_WIRE_JSON_DOCUMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/rapidjson.h"
#include "driverupgrade/label_selector.h"
#include "wire/wanted_members.h"

namespace driverupgrade::internal {

namespace rapidjson = ::driverupgrade_rapidjson;

// A parsed document. It cannot be moved, because its values point into its copy of the text.
class JsonDocument {
 public:
  // Maximum nesting depth. A pod with affinity has about 12 levels.
  static constexpr int kDepthMax = 64;

  JsonDocument() = default;
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  // Parses the text; must be called at most once. Keeps only the wanted members of objects, or all members if `wanted`
  // is empty, but always checks the whole text. Errors: InvalidArgument with the byte position.
  absl::Status Parse(std::string_view text, WantedMembers wanted = {});
  const rapidjson::Value& root() const { return document_; }

 private:
  std::string text_;
  rapidjson::Document document_;
};

// A position in a document. The value at this position may be missing. A missing or null value is read as the default.
// A value of the wrong type is also read as the default, and sets an error. Only the first error is kept, so a single
// check at the end is enough.
class JsonField {
 public:
  // `error` stays empty unless an error occurs. Both `error` and the document must outlive the field.
  JsonField(const rapidjson::Value& root, std::string& error) : value_(&root), error_(error) {}

  // A field points to its parent to build its path, so the parent must not be a temporary.
  JsonField Member(std::string_view key) const&;
  JsonField Member(std::string_view key) const&& = delete;

  // Returns a root field at the same position, which stores its error in `error`.
  JsonField Detached(std::string& error) const { return JsonField(value_, error); }

  // Returns true if the value is neither missing nor null.
  bool present() const { return value_ != nullptr && !value_->IsNull(); }
  std::string String() const;
  bool Bool() const;
  std::int64_t Int64() const;
  int Int() const;
  StringMap Strings() const;
  // Returns a value of any type as compact JSON, or an empty string if the value is missing.
  std::string Json() const;
  // Returns a hash of the value that does not depend on the order of members. Ignores members that are null or named
  // `left_out`. Returns 0 if there is no value.
  std::uint64_t Digest(std::string_view left_out) const;

  // Visits the elements of an array. `visit` takes a const JsonField&.
  template <typename F>
  void ForEachItem(F&& visit) const {
    if (!Is(rapidjson::kArrayType, "an array")) return;
    for (rapidjson::SizeType i = 0; i < value_->Size(); ++i) visit(JsonField(&(*value_)[i], *this, {}, i));
  }
  // Visits the members of an object. `visit` takes a std::string_view key and a const JsonField&.
  template <typename F>
  void ForEachMember(F&& visit) const {
    if (!Is(rapidjson::kObjectType, "an object")) return;
    for (auto it = value_->MemberBegin(); it != value_->MemberEnd(); ++it) {
      const std::string_view key(it->name.GetString(), it->name.GetStringLength());
      visit(key, JsonField(&it->value, *this, key, 0));
    }
  }
  std::size_t ItemCount() const { return present() && value_->IsArray() ? value_->Size() : 0; }

  // Sets `what` as the error of this field.
  void Fail(std::string_view what) const;

 private:
  JsonField(const rapidjson::Value* value, std::string& error) : value_(value), error_(error) {}
  JsonField(const rapidjson::Value* value, const JsonField& parent, std::string_view key, std::size_t index)
      : value_(value), parent_(&parent), key_(key), index_(index), error_(parent.error_) {}
  // Returns true if the field is present and of this type; sets an error if the field has another type.
  bool Is(rapidjson::Type type, std::string_view expected) const;
  // Returns the path, such as `items[3].metadata.labels`; empty for the root.
  std::string Path() const;

  const rapidjson::Value* value_;
  const JsonField* parent_ = nullptr;
  std::string_view key_;  // data() is null for an array element
  std::size_t index_ = 0;
  std::string& error_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_JSON_DOCUMENT_H_
