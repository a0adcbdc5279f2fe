// A document of scalars, lists and mappings, independent of its format.
#ifndef DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {

// Limits for a document from an untrusted source.
inline constexpr std::size_t kDocumentSizeMax = std::size_t{1} << 20;
inline constexpr int kDocumentDepthMax = 32;

// Values are compared by their marks to find their order in the document.
struct DocumentMark {
  int line = 0;
  int column = 0;
};

struct DocumentValue {
  struct Entry;
  enum class Kind { kNull, kScalar, kList, kMapping };

  Kind kind = Kind::kNull;
  // For a scalar: written without quotes, as numbers and truth values are.
  bool plain = false;
  std::string text = {};
  // The tag that the document gives the value; empty without a tag.
  std::string tag = {};
  DocumentMark mark = {};
  // For a mapping: its entries in the order of the document; a name may occur twice. For a list: its items, whose names
  // are null.
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

// OK if `text` may be a document: neither too long nor with control characters.
absl::Status CheckDocumentText(std::string_view text);

// Errors: InvalidArgument if the text is not valid JSON or is nested too deeply.
[[nodiscard]] absl::StatusOr<DocumentValue> LoadJson(std::string_view text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_
