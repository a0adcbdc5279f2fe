// Tests the rows of docs/policy.md and the schemas, both of which are generated from the policy field tables.
// DRIVERUPGRADE_REWRITE=1 rewrites the rows and schemas; scripts/crds.py then copies the schemas into the definitions.
#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "docs/field_entries.h"
#include "scenarios/golden_file.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

const std::filesystem::path kRoot = DRIVERUPGRADE_SOURCE_DIR;

void CheckOrRewrite(const std::filesystem::path& path, const std::string& is, const std::string& wanted) {
  CAPTURE(path.string());
  const Rewriting rewriting = RewritingWanted();
  if (rewriting == Rewriting::kRefused) FAIL("DRIVERUPGRADE_REWRITE is not for CI");
  if (is != wanted && rewriting == Rewriting::kOn) return WriteFile(path, wanted);
  if (is != wanted) FAIL_CHECK("not what src/policy/policy_fields.h says; DRIVERUPGRADE_REWRITE=1 rewrites it");
}

std::string Quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("\"\\", at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return fmt::format("\"{}\"", text);
}

// Returns the default of a field, formatted as a cell of docs/policy.md.
std::string DefaultCell(const FieldEntry& entry, std::string json) {
  const bool is_absent = json == "null" || json == "[]" || json.front() == '{';
  if (is_absent) return std::string(entry.doc.fallback.empty() ? "none" : entry.doc.fallback);
  if (json == R"("")") return entry.values == "label selector" ? R"(`""`)" : "required";
  if (json.front() == '[') json = json.substr(1, json.size() - 2);
  if (json == "true" || json == "false") return fmt::format("`{}`", json);
  std::string cell;
  for (const char c : json) cell += c == '"' ? "`" : c == ',' ? ", " : std::string(1, c);
  return cell;
}

// Returns the defaults. If the presets differ, includes their names, such as "GPU `true`; network and plain `false`".
std::string DefaultsCell(const FieldEntry& entry) {
  const auto& [plain, gpu, network] = entry.defaults;
  if (plain == gpu && plain == network) return DefaultCell(entry, plain);
  const bool gpu_differs = plain == network;
  const std::string special = gpu_differs ? gpu : network;
  return fmt::format("{} {}; {} and plain{} {}", gpu_differs ? "GPU" : "network", DefaultCell(entry, special),
                     gpu_differs ? "network" : "GPU", plain == "null" ? ":" : "", DefaultCell(entry, plain));
}

// The names of the fields that have a row, and all cells of these rows except for the first.
using Rows = std::vector<std::pair<std::string, std::string>>;

void AddRows(const std::vector<FieldEntry>& entries, const std::string& prefix, bool has_advice, Rows& rows) {
  for (const FieldEntry& entry : entries) {
    if (!entry.doc.meaning.empty()) {
      const std::string values = entry.doc.values.empty() ? entry.values : std::string(entry.doc.values);
      std::string cells = fmt::format("{} | {} | {} |", values, DefaultsCell(entry), entry.doc.meaning);
      if (has_advice) cells += fmt::format(" {} |", entry.doc.advice);
      rows.emplace_back(prefix + entry.name, cells);
    }
    if (entry.name != "stages")
      AddRows(entry.fields, prefix + entry.name + (entry.is_list ? "[]." : "."), has_advice, rows);
  }
}

Rows RowsOf(const std::vector<FieldEntry>& entries, bool has_advice) {
  Rows rows;
  AddRows(entries, "", has_advice, rows);
  return rows;
}

std::string NameIn(const std::string& row) {
  const std::size_t begin = row.find('`') + 1;
  return row.substr(begin, row.find('`', begin) - begin);
}

// Returns the page with these rows in the first table below `heading` whose header starts with `header`. Existing rows
// keep their order and their first cell; the rows of new fields come last.
std::string WithRows(const std::string& page, const std::string& heading, const std::string& header, const Rows& rows) {
  const std::size_t begin = page.find("\n| " + header + " |", page.find("\n" + heading + "\n"));
  if (begin == std::string::npos) throw std::runtime_error("no table below " + heading);
  const std::size_t first = page.find("\n", page.find("|---", begin)) + 1;
  const std::size_t end = page.find("\n\n", first) + 1;
  std::map<std::string, std::string> cells(rows.begin(), rows.end());
  std::istringstream lines(page.substr(first, end - first));
  std::string made;
  for (std::string line; std::getline(lines, line);) {
    const auto found = cells.find(NameIn(line));
    if (found == cells.end()) continue;
    made += fmt::format("{} | {}\n", line.substr(0, line.find(" | ")), found->second);
    cells.erase(found);
  }
  for (const auto& [name, text] : rows) {
    if (cells.contains(name)) made += fmt::format("| `{}` | {}\n", name, text);
  }
  return page.substr(0, first) + made + page.substr(end);
}

FieldEntry Named(const std::vector<FieldEntry>& entries, const std::string& name) {
  return *std::find_if(entries.begin(), entries.end(), [&](const FieldEntry& entry) { return entry.name == name; });
}

TEST_CASE("docs/policy.md has a row for each documented field") {
  const std::vector<FieldEntry> policy = PolicyFieldEntries();
  const std::filesystem::path path = kRoot / "docs/policy.md";
  const std::string page = ReadFile(path);
  std::vector<FieldEntry> flat;
  std::string wanted = page;
  for (const FieldEntry& entry : policy) {
    if (entry.fields.empty()) flat.push_back(entry);
    if (entry.fields.empty() || entry.name == "rollout") continue;
    const std::string other = entry.name == "podDeletion" ? " (or `gpuPodDeletion`)" : "";
    wanted = WithRows(wanted, fmt::format("### `{}`{}", entry.name, other), "field", RowsOf(entry.fields, true));
  }
  const FieldEntry rollout = Named(policy, "rollout");
  const Rows stage = RowsOf(Named(rollout.fields, "stages").fields, false);
  wanted = WithRows(wanted, "### The rollout", "field", RowsOf(flat, true));
  wanted = WithRows(wanted, "### `rollout`", "field of a stage", stage);
  wanted = WithRows(wanted, "### `rollout`", "field", RowsOf(rollout.fields, false));
  CheckOrRewrite(path, page, wanted);
}

std::string Schemas(const std::vector<FieldEntry>& entries, const std::string& indent);

// Returns the schema of a section, or of a list of sections.
std::string SectionSchema(const FieldEntry& entry, const std::string& indent) {
  std::string text;
  if (entry.is_list) text += indent + "type: array\n" + indent + "maxItems: 100\n";
  if (!entry.doc.description.empty())
    text += indent + "description: " + Quoted(std::string(entry.doc.description)) + "\n";
  const std::string inner = entry.is_list ? indent + "  " : indent;
  if (entry.is_list) text += indent + "items:\n";
  return text + inner + "type: object\n" + inner + "x-kubernetes-preserve-unknown-fields: true\n" + inner +
         "properties:\n" + Schemas(entry.fields, inner + "  ");
}

std::string LeafSchema(const FieldEntry& entry) {
  if (entry.schema.empty()) return "";
  std::string text = entry.schema;
  const auto& [plain, gpu, network] = entry.defaults;
  if (!gpu.empty() && gpu != "null") text += ", default: " + gpu;
  if (network != gpu) text += ", networkDefault: " + network;
  if (!entry.doc.description.empty()) text += ", description: " + Quoted(std::string(entry.doc.description));
  return text;
}

std::string Schemas(const std::vector<FieldEntry>& entries, const std::string& indent) {
  std::string text;
  for (const FieldEntry& entry : entries) {
    const bool by_hand = entry.fields.empty() || entry.name == "windows";
    text += indent + entry.name + ":";
    text += by_hand ? fmt::format(" {{{}}}\n", LeafSchema(entry)) : "\n" + SectionSchema(entry, indent + "  ");
  }
  return text;
}

TEST_CASE("deploy/crds/policy-fields.yaml has the schema of each field") {
  const std::filesystem::path path = kRoot / "deploy/crds/policy-fields.yaml";
  const std::string wanted =
      "# Generated from src/policy/policy_fields.h by tests/docs/policy_fields_test.cc. Do not edit. scripts/crds.py\n"
      "# writes these schemas into the definitions next to this file. Schemas that are empty are in "
      "upgrade-policy.yaml.\n" +
      Schemas(PolicyFieldEntries(), "");
  CheckOrRewrite(path, std::filesystem::exists(path) ? ReadFile(path) : "", wanted);
}

}  // namespace
}  // namespace driverupgrade::tests
