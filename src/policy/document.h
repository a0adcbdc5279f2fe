// A document of scalars, lists and mappings, whatever it was written in.
#ifndef DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_
#define DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {

// Of a document that nobody has vetted.
inline constexpr std::size_t kDocumentSizeMax = std::size_t{1} << 20;
inline constexpr int kDocumentDepthMax = 32;

// Values are compared by it for their order in the document.
struct DocumentMark {
  int line = 0;
  int column = 0;
};

struct DocumentValue {
  struct Entry;
  enum class Kind { kNull, kScalar, kList, kMapping };

  Kind kind = Kind::kNull;
  // Of a scalar: written without quotes, as a number and a truth value are.
  bool plain = false;
  std::string text = {};
  // That the document gives the value; empty for none.
  std::string tag = {};
  DocumentMark mark = {};
  // Of a mapping, in the order of the document. Names may stand in it twice. Of a list: its items, whose names are null.
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

// Errors: InvalidArgument for what is no JSON, or too deep.
[[nodiscard]] absl::StatusOr<DocumentValue> LoadJson(std::string_view text);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_DOCUMENT_H_
