#include "policy/yaml_document.h"

#include <exception>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "policy/document.h"
#include "yaml-cpp/eventhandler.h"

namespace driverupgrade::internal {
namespace {

absl::Status At(const YAML::Mark& mark, std::string_view problem) {
  if (mark.is_null()) return absl::InvalidArgumentError(std::string(problem));
  return absl::InvalidArgumentError(fmt::format("line {}, column {}: {}", mark.line + 1, mark.column + 1, problem));
}

// Limits the size of a tree. Aliases share nodes, so a short document can describe an endless or exponentially large
// tree; a node and its text therefore count once for each path to the node.
struct Budget {
  int nodes = kYamlNodesMax;
  std::size_t bytes = kDocumentSizeMax;
};
absl::Status CheckTree(const YAML::Node& node, int depth, Budget& budget) {
  if (depth > kDocumentDepthMax)
    return At(node.Mark(), fmt::format("nested more than {} levels deep", kDocumentDepthMax));
  if (--budget.nodes < 0)
    return At(node.Mark(), fmt::format("more than {} values after aliases are expanded", kYamlNodesMax));
  if (node.IsScalar()) {
    if (node.Scalar().size() > budget.bytes) {
      return At(node.Mark(), fmt::format("more than {} bytes of text after aliases are expanded", kDocumentSizeMax));
    }
    budget.bytes -= node.Scalar().size();
  } else if (node.IsSequence()) {
    for (const YAML::Node& item : node) DRIVERUPGRADE_RETURN_IF_ERROR(CheckTree(item, depth + 1, budget));
  } else if (node.IsMap()) {
    for (const auto& entry : node) {
      DRIVERUPGRADE_RETURN_IF_ERROR(CheckTree(entry.first, depth + 1, budget));
      DRIVERUPGRADE_RETURN_IF_ERROR(CheckTree(entry.second, depth + 1, budget));
    }
  }
  return absl::OkStatus();
}

class IgnoreEvents final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

absl::StatusOr<YAML::Node> LoadAndCheck(const std::string& text) {
  if (HasSeveralYamlDocuments(text)) return absl::InvalidArgumentError("expected one document, found more");
  YAML::Node document = YAML::Load(text);
  Budget budget;
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckTree(document, 0, budget));
  return document;
}

// Escapes control characters in the parser's error message. The message contains the unexpected character, which is a
// control character if the text ends unexpectedly.
std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    line += absl::ascii_iscntrl(byte) ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return line;
}

}  // namespace

bool HasSeveralYamlDocuments(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  IgnoreEvents ignore;
  return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

absl::StatusOr<YAML::Node> LoadYaml(std::string_view text) {
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckDocumentText(text));
  try {
    return LoadAndCheck(std::string(text));
  } catch (const YAML::Exception& error) {
    return At(error.mark, fmt::format("not YAML: {}", OneLine(error.msg)));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(fmt::format("not YAML: {}", OneLine(error.what())));
  }
}

}  // namespace driverupgrade::internal
