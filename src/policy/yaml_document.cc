#include "policy/yaml_document.h"

#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "yaml-cpp/eventhandler.h"

namespace driverupgrade::inline v1::internal {
namespace {

absl::Status At(const YAML::Mark& mark, std::string_view problem) {
  if (mark.is_null()) return absl::InvalidArgumentError(std::string(problem));
  return absl::InvalidArgumentError(fmt::format("line {}, column {}: {}", mark.line + 1, mark.column + 1, problem));
}

// An alias shares its node, so a short document can describe an endless or exponential tree. `budget` counts
// a node once for each way to it.
absl::Status CheckTree(const YAML::Node& node, int depth, int& budget) {
  if (depth > kYamlDepthMax) return At(node.Mark(), fmt::format("nested more than {} deep", kYamlDepthMax));
  if (--budget < 0) return At(node.Mark(), fmt::format("more than {} values, aliases included", kYamlNodesMax));
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) DRIVERUPGRADE_RETURN_IF_ERROR(CheckTree(item, depth + 1, budget));
  } else if (node.IsMap()) {
    for (const auto& entry : node) {
      DRIVERUPGRADE_RETURN_IF_ERROR(CheckTree(entry.first, depth + 1, budget));
      DRIVERUPGRADE_RETURN_IF_ERROR(CheckTree(entry.second, depth + 1, budget));
    }
  }
  return absl::OkStatus();
}

// YAML forbids the other control characters, and yaml-cpp takes one of them for the end of the file.
bool IsText(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= ' ' ? byte != 0x7f : c == '\n' || c == '\r' || c == '\t';
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
  int budget = kYamlNodesMax;
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckTree(document, 0, budget));
  return document;
}

// The parser names the character that it met, and the end of the text is a control character to it.
std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool control = (c >= 0 && c < ' ') || c == '\x7f';
    line += control ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
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
  if (text.size() > kYamlSizeMax) {
    return absl::InvalidArgumentError(
        fmt::format("the document has {} bytes, more than the {} allowed", text.size(), kYamlSizeMax));
  }
  if (!std::all_of(text.begin(), text.end(), IsText)) {
    return absl::InvalidArgumentError("the document holds control characters; is it UTF-8 text?");
  }
  try {
    return LoadAndCheck(std::string(text));
  } catch (const YAML::Exception& error) {
    return At(error.mark, fmt::format("not YAML: {}", OneLine(error.msg)));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(fmt::format("not YAML: {}", OneLine(error.what())));
  }
}

}  // namespace driverupgrade::inline v1::internal
