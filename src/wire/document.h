// Parses a document of the C interface: a JSON object that has only known members.
#ifndef DRIVERUPGRADE_SRC_WIRE_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_WIRE_DOCUMENT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/rapidjson.h"

namespace driverupgrade::internal {

// Errors: InvalidArgument with the path and the reason, such as `request.at: must be a string`.
class Document {
 public:
  // `name` identifies the document in error messages. Fails unless the text is an object whose members are all in
  // `known` or `more`.
  [[nodiscard]] static absl::StatusOr<Document> Parse(std::string_view name, std::string_view text,
                                                      std::initializer_list<std::string_view> known,
                                                      std::initializer_list<std::string_view> more = {});

  bool Has(std::string_view member) const { return Find(member) != nullptr; }
  [[nodiscard]] absl::StatusOr<std::string> Text(std::string_view member) const;
  // The following three functions return `absent` if the member is absent.
  [[nodiscard]] absl::StatusOr<std::string> TextOr(std::string_view member, std::string_view absent) const;
  [[nodiscard]] absl::StatusOr<bool> FlagOr(std::string_view member, bool absent) const;
  [[nodiscard]] absl::StatusOr<int> CountOr(std::string_view member, int absent) const;
  [[nodiscard]] absl::StatusOr<std::int64_t> Integer(std::string_view member) const;
  // Returns an empty list if the member is absent.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> Texts(std::string_view member) const;
  // Returns the objects of an array; an empty list if the member is absent.
  [[nodiscard]] absl::StatusOr<std::vector<Document>> Objects(std::string_view member,
                                                              std::initializer_list<std::string_view> known) const;
  [[nodiscard]] absl::StatusOr<Document> Object(std::string_view member,
                                                std::initializer_list<std::string_view> known) const;
  // Returns the string if the member is a string, or else the member's JSON text.
  [[nodiscard]] absl::StatusOr<std::string> Embedded(std::string_view member) const;
  absl::Status Wrong(std::string_view member, std::string_view why) const;

 private:
  using Value = driverupgrade_rapidjson::Value;

  explicit Document(std::string name) : name_(std::move(name)) {}
  absl::Status CheckMembers(std::initializer_list<std::string_view> known,
                            std::initializer_list<std::string_view> more = {}) const;
  // Returns nullptr if the member is absent or null.
  const Value* Find(std::string_view member) const;

  std::string name_;
  driverupgrade_rapidjson::Document json_;
};

// Parses a document that is an array of strings.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ParseTexts(std::string_view name, std::string_view text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_DOCUMENT_H_
