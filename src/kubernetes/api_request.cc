#include "kubernetes/api_request.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"

namespace driverupgrade::internal {
namespace {

std::string VerbOf(const HttpRequest& request, bool named) {
  switch (request.verb) {
    case HttpVerb::kPost: return "create";
    case HttpVerb::kPut: return "update";
    case HttpVerb::kPatch: return "patch";
    case HttpVerb::kDelete: return named ? "delete" : "deletecollection";
    case HttpVerb::kGet: break;
  }
  const bool watch = std::any_of(request.query.begin(), request.query.end(), [](const auto& parameter) {
    return parameter.first == "watch" && (parameter.second == "1" || parameter.second == "true");
  });
  if (watch) return "watch";
  return named ? "get" : "list";
}

}  // namespace

// A path starts with /api/v1/ or /apis/<group>/<version>/ and continues with
// [namespaces/<ns>/]<resource>[/<name>[/<subresource>]].
ApiRequest ApiRequestOf(const HttpRequest& request) {
  std::vector<std::string> parts = absl::StrSplit(request.path, '/', absl::SkipEmpty());
  ApiRequest result;
  std::size_t at = 0;
  if (parts.size() > 2 && parts[0] == "api") {
    at = 2;
  } else if (parts.size() > 3 && parts[0] == "apis") {
    result.group = parts[1];
    at = 3;
  }
  if (at > 0 && parts.size() > at + 2 && parts[at] == "namespaces") {
    result.ns = parts[at + 1];
    at += 2;
  }
  if (at > 0) {
    result.resource = parts[at];
    if (parts.size() > at + 1) result.name = parts[at + 1];
    if (parts.size() > at + 2) result.resource += "/" + parts[at + 2];
  }
  result.verb = VerbOf(request, !result.name.empty());
  return result;
}

}  // namespace driverupgrade::internal
