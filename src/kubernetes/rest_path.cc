#include "kubernetes/rest_path.h"

#include <cstddef>

#include "base/quote.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "driverupgrade/kubernetes/http_message.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// Maximum length of a name in an error message. A Kubernetes name has at most 253 bytes, but a selector or an invalid
// name may have any length.
constexpr std::size_t kShownBytesMax = 300;

// Returns true for a valid segment of a path (S11). Refuses `%`, because some proxies decode twice.
bool IsSegment(std::string_view text) {
  if (text.empty() || text == "." || text == ".." || text.size() > kShownBytesMax) return false;
  for (const char c : text) {
    if (c == '/' || c == '%' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F) return false;
  }
  return true;
}

}  // namespace

std::string Shown(std::string_view text) { return EscapeForText(text, kShownBytesMax); }

std::string Attempt(std::string_view verb, const Place& place) {
  const std::string name =
      place.resource.namespaced ? fmt::format("{}/{}", place.ns, place.name) : std::string(place.name);
  return fmt::format("{} {} {}", verb, place.resource.in_words, Shown(name));
}

std::string Attempt(std::string_view verb, const Selection& selection) {
  std::string text = fmt::format("{} {}s", verb, selection.resource.in_words);
  if (!selection.ns.empty()) text += fmt::format(" in namespace {}", Shown(selection.ns));
  if (!selection.labels.empty()) text += fmt::format(" with labels {}", Shown(selection.labels.ToString()));
  if (!selection.node_name.empty()) text += fmt::format(" on node {}", Shown(selection.node_name));
  return text;
}

absl::Status Refuse(std::string_view attempted, std::string_view why) {
  return MarkRequestNotSent(absl::InvalidArgumentError(fmt::format("{}: {}", attempted, why)));
}

absl::Status CheckSegment(std::string_view attempted, std::string_view what, std::string_view value) {
  if (IsSegment(value)) return absl::OkStatus();
  return Refuse(attempted, fmt::format("{} {} is not valid", what, Quote(value)));
}

absl::Status Check(std::string_view attempted, const Place& place) {
  if (place.resource.namespaced) DRIVERUPGRADE_RETURN_IF_ERROR(CheckNamespace(attempted, place.ns));
  return CheckSegment(attempted, fmt::format("the {}'s name", place.resource.in_words), place.name);
}

absl::Status CheckNamespace(std::string_view attempted, std::string_view ns) {
  return CheckSegment(attempted, "the namespace", ns);
}

std::string EncodeSegment(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (alphanumeric || c == '-' || c == '.' || c == '_' || c == '~') {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::string CollectionPath(const Resource& resource, std::string_view ns) {
  if (ns.empty()) return fmt::format("{}/{}", resource.group, resource.name);
  return fmt::format("{}/namespaces/{}/{}", resource.group, EncodeSegment(ns), resource.name);
}

std::string ObjectPath(const Place& place) {
  const std::string_view ns = place.resource.namespaced ? place.ns : std::string_view();
  return fmt::format("{}/{}", CollectionPath(place.resource, ns), EncodeSegment(place.name));
}

// Escapes the characters that S14 lists.
std::string EscapeFieldValue(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == ',' || c == '=') result += '\\';
    result += c;
  }
  return result;
}

Query QueryOf(const Selection& selection) {
  Query query;
  if (!selection.node_name.empty()) {
    query.emplace_back("fieldSelector", "spec.nodeName=" + EscapeFieldValue(selection.node_name));
  }
  if (!selection.labels.empty()) query.emplace_back("labelSelector", selection.labels.ToString());
  return query;
}

}  // namespace driverupgrade::internal
