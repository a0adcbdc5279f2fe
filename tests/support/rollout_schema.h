// Checks rollout documents against docs/rollout.schema.json. Test programs that include this file must define
// DRIVERUPGRADE_DOCS_DIR.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_ROLLOUT_SCHEMA_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_ROLLOUT_SCHEMA_H_

#include <fstream>
#include <iterator>
#include <string>

#include "base/rapidjson.h"
#include "support/catch.h"
// clang-format off: must come after base/rapidjson.h, whose settings schema.h uses.
#include <rapidjson/schema.h>
// clang-format on

namespace driverupgrade::tests {

inline driverupgrade_rapidjson::Document ParsedJson(const std::string& text) {
  driverupgrade_rapidjson::Document document;
  document.Parse(text.data(), text.size());
  REQUIRE_FALSE(document.HasParseError());
  return document;
}

// Returns the position and the schema keyword of a violation, or an empty string if `document` is valid.
inline std::string BreaksRolloutSchema(const driverupgrade_rapidjson::Document& document) {
  std::ifstream file(DRIVERUPGRADE_DOCS_DIR "/rollout.schema.json");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const driverupgrade_rapidjson::SchemaDocument schema(ParsedJson(text));
  driverupgrade_rapidjson::SchemaValidator validator(schema);
  if (document.Accept(validator)) return "";
  driverupgrade_rapidjson::StringBuffer where;
  validator.GetInvalidDocumentPointer().StringifyUriFragment(where);
  return std::string(where.GetString()) + ": " + validator.GetInvalidSchemaKeyword();
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_ROLLOUT_SCHEMA_H_
