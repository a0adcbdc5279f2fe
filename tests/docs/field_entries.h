// The entries of the policy field tables, as strings from which the policy page and the schemas are generated.
#ifndef DRIVERUPGRADE_TESTS_DOCS_FIELD_ENTRIES_H_
#define DRIVERUPGRADE_TESTS_DOCS_FIELD_ENTRIES_H_

#include <array>
#include <string>
#include <vector>

#include "policy/field_table.h"

namespace driverupgrade::tests {

struct FieldEntry {
  std::string name;
  // The schema in YAML's flow style without braces. Empty if the schema is written by hand, or if the field is a
  // section.
  std::string schema = {};
  // The permitted values, as shown in docs/policy.md.
  std::string values = {};
  // The default as JSON, in three variants: plain, with the GPU operator's defaults, and with the network operator's
  // defaults.
  std::array<std::string, 3> defaults = {};
  internal::FieldDoc doc = {};
  // The fields of a section, or of the items of a list.
  std::vector<FieldEntry> fields = {};
  bool is_list = false;
};

/// Returns the entries of the entire policy, in the order of the policy's field table.
std::vector<FieldEntry> PolicyFieldEntries();

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_DOCS_FIELD_ENTRIES_H_
