#include "driverupgrade/kubernetes/http_message.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "fmt/format.h"
#include "model/request_not_sent.h"

namespace driverupgrade {
namespace {

using internal::kNotSentPayload;

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsAlnum(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsUnreserved(char c) { return IsAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

// Returns true for "/", "%" and the characters of pchar in RFC 3986.
bool MayStandInPath(char c) {
  return IsUnreserved(c) || std::string_view("/%!$&'()*+,;=:@").find(c) != std::string_view::npos;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void AppendEncoded(std::string_view text, std::string& out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (char c : text) {
    if (IsUnreserved(c)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 0xf]);
  }
}

absl::Status Unsendable(const HttpRequest& request, std::string_view why) {
  return MarkRequestNotSent(
      absl::InvalidArgumentError(fmt::format("cannot send {} request: {}", ToString(request.verb), why)));
}

}  // namespace

std::string_view ToString(HttpVerb verb) {
  switch (verb) {
    case HttpVerb::kGet: return "GET";
    case HttpVerb::kPost: return "POST";
    case HttpVerb::kPut: return "PUT";
    case HttpVerb::kPatch: return "PATCH";
    case HttpVerb::kDelete: return "DELETE";
  }
  return "GET";
}

bool HeaderNameLess::operator()(std::string_view a, std::string_view b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return LowerAscii(x) < LowerAscii(y); });
}

std::optional<std::string_view> HttpResponse::Header(std::string_view name) const {
  const auto found = headers.find(name);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

bool RequestWasNotSent(const absl::Status& status) {
  return !status.ok() && status.GetPayload(kNotSentPayload).has_value();
}

absl::Status MarkRequestNotSent(absl::Status status) {
  if (!status.ok()) status.SetPayload(kNotSentPayload, absl::Cord());
  return status;
}

absl::StatusOr<std::string> EncodeRequestTarget(const HttpRequest& request) {
  // Error messages do not repeat the offending text, because it may be long or break a log line.
  if (request.path.empty() || request.path.front() != '/') {
    return Unsendable(request, "its path does not start with \"/\"");
  }
  // "//name/..." would refer to another host.
  if (request.path.starts_with("//")) return Unsendable(request, "its path starts with \"//\"");
  if (!std::all_of(request.path.begin(), request.path.end(), MayStandInPath)) {
    return Unsendable(request, "its path has a character that must be percent-encoded");
  }
  // The content type becomes a header line.
  if (std::any_of(request.content_type.begin(), request.content_type.end(), IsControl)) {
    return Unsendable(request, "its content type has a control character");
  }
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || std::any_of(name.begin(), name.end(), IsControl) ||
        std::any_of(value.begin(), value.end(), IsControl)) {
      return Unsendable(request, "one of its headers has no name, or contains a control character");
    }
  }
  std::string target = request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target.push_back(separator);
    separator = '&';
    AppendEncoded(name, target);
    target.push_back('=');
    AppendEncoded(value, target);
  }
  return target;
}

}  // namespace driverupgrade
