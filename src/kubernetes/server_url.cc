#include "kubernetes/server_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "fmt/format.h"

namespace driverupgrade {
namespace {

bool IsIpv4(const std::string& text) {
  in_addr address = {};
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

bool IsIpv6(const std::string& text) {
  in6_addr address = {};
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// Parses "host", "host:port", "[v6]" or "[v6]:port".
absl::Status ParseAuthority(std::string_view authority, ServerUrl& url) {
  if (authority.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError("must not contain a user name or a password");
  }
  std::string_view port;
  bool has_port = false;
  if (!authority.empty() && authority.front() == '[') {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return absl::InvalidArgumentError("has an unclosed \"[\"");
    url.host = std::string(authority.substr(1, end - 1));
    if (!IsIpv6(url.host)) return absl::InvalidArgumentError("has no IPv6 address between the brackets");
    url.is_ipv6 = true;
    std::string_view rest = authority.substr(end + 1);
    has_port = !rest.empty();
    if (has_port && rest.front() != ':') return absl::InvalidArgumentError("has text after \"]\"");
    if (has_port) port = rest.substr(1);
  } else {
    const std::size_t colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    url.host = std::string(authority.substr(0, colon));
    if (has_port) port = authority.substr(colon + 1);
    std::transform(url.host.begin(), url.host.end(), url.host.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (url.host.empty()) return absl::InvalidArgumentError("has no host");
    if (!std::all_of(url.host.begin(), url.host.end(), IsNameCharacter)) {
      return absl::InvalidArgumentError("has a host with a character that is not valid in a name or address");
    }
    url.is_ipv4 = IsIpv4(url.host);
  }
  url.port = url.https ? 443 : 80;
  if (!has_port) return absl::OkStatus();
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size() || url.port < 1 || url.port > 65535) {
    return absl::InvalidArgumentError("has a port that is not a number from 1 to 65535");
  }
  return absl::OkStatus();
}

bool IsPathCharacter(char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\'; }

}  // namespace

bool ServerUrl::IsLoopback() const {
  if (is_ipv4) return host.starts_with("127.");
  if (is_ipv6) return host == "::1";
  return host == "localhost";
}

std::string ServerUrl::Authority() const {
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string ServerUrl::ToString() const {
  return fmt::format("{}://{}{}", https ? "https" : "http", Authority(), path);
}

absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view text) {
  ServerUrl url;
  if (text.starts_with("https://")) {
    url.https = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return absl::InvalidArgumentError("must start with https:// or http://");
  }
  text = text.substr(0, text.find_first_of("?#"));
  const std::size_t slash = text.find('/');
  absl::Status status = ParseAuthority(text.substr(0, slash), url);
  if (!status.ok()) return status;
  if (slash != std::string_view::npos) url.path = std::string(text.substr(slash));
  while (url.path.ends_with('/')) url.path.pop_back();
  if (!std::all_of(url.path.begin(), url.path.end(), IsPathCharacter)) {
    return absl::InvalidArgumentError("has a path with a character that is not valid in a URL");
  }
  return url;
}

}  // namespace driverupgrade
