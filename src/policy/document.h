// Represents a document of scalars, lists and mappings, regardless of the document's format.
#ifndef DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {

// Limits for documents from untrusted sources.
inline constexpr std::size_t kDocumentSizeMax = std::size_t{1} << 20;
inline constexpr int kDocumentDepthMax = 32;

// A position in the document. Comparing two marks shows which value comes first.
struct DocumentMark {
  int line = 0;
  int column = 0;
};

struct DocumentValue {
  struct Entry;
  enum class Kind { kNull, kScalar, kList, kMapping };

  Kind kind = Kind::kNull;
  // For a scalar: true if the scalar is written without quotes, like a number or a Boolean.
  bool plain = false;
  std::string text = {};
  // The tag of the value in the document; empty if the value has no tag.
  std::string tag = {};
  DocumentMark mark = {};
  // For a mapping: the entries in the order of the document. A name can occur more than once. For a list: the items, as
  // entries with null names.
  std::vector<Entry> entries;

  bool IsNull() const { return kind == Kind::kNull; }
  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsList() const { return kind == Kind::kList; }
  bool IsMapping() const { return kind == Kind::kMapping; }
  bool IsPlain() const { return IsScalar() && plain; }
};

struct DocumentValue::Entry {
  DocumentValue name;
  DocumentValue value;
};

// Checks the text of a document. Errors: InvalidArgument if `text` is too long or contains control characters.
absl::Status CheckDocumentText(std::string_view text);

// Parses a JSON document. Errors: InvalidArgument if the text is not valid JSON or is nested too deeply.
[[nodiscard]] absl::StatusOr<DocumentValue> LoadJson(std::string_view text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_
