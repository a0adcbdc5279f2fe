#include "kubernetes/transport_setup.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "driverupgrade/version.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

std::string Text(const absl::Status& status) { return std::string(status.message()); }

absl::Status CheckOptions(const TransportOptions& options) {
  if (options.request_timeout <= absl::ZeroDuration() || options.stream_idle_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("request_timeout and stream_idle_timeout must be positive");
  }
  if (options.token_refresh <= absl::ZeroDuration() || options.exec_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("token_refresh and exec_timeout must be positive");
  }
  if (options.body_size_max == 0 || options.line_size_max == 0 || options.header_size_max == 0) {
    return absl::InvalidArgumentError("body_size_max, line_size_max and header_size_max must be positive");
  }
  const std::string& agent = options.user_agent;
  if (!std::all_of(agent.begin(), agent.end(), [](char c) { return c >= 0x20 && c < 0x7f; })) {
    return absl::InvalidArgumentError("user_agent must be visible ASCII");
  }
  return absl::OkStatus();
}

absl::StatusOr<ServerUrl> ParseServer(const KubeConfig& config) {
  absl::StatusOr<ServerUrl> url = ParseServerUrl(config.server);
  if (!url.ok()) return absl::InvalidArgumentError(fmt::format("server {}", Text(url.status())));
  const bool has_other = !config.token.empty() || !config.token_file.empty() || !config.client_certificate_pem.empty();
  if (config.exec.has_value() && has_other) {
    return absl::InvalidArgumentError("a credential plugin cannot be combined with another credential");
  }
  const bool has_token = !config.token.empty() || !config.token_file.empty() || config.exec.has_value();
  if (has_token && !url->https && !url->IsLoopback()) {
    return absl::InvalidArgumentError("refusing to send a token over http://");
  }
  return url;
}

// Accepts only proxies that every backend supports. An https proxy would need its own trust settings.
absl::StatusOr<std::optional<ServerUrl>> ParseProxy(const KubeConfig& config) {
  if (config.proxy_url.empty()) return std::nullopt;
  if (!config.proxy_url.starts_with("http://")) return absl::UnimplementedError("proxy: only http:// proxies");
  if (config.proxy_url.find('@') != std::string::npos) {
    return absl::UnimplementedError("proxy: a user name or password is not supported");
  }
  absl::StatusOr<ServerUrl> proxy = ParseServerUrl(config.proxy_url);
  if (!proxy.ok()) return absl::InvalidArgumentError(fmt::format("proxy: {}", Text(proxy.status())));
  return *std::move(proxy);
}

}  // namespace

absl::StatusOr<TransportSetup> TransportSetup::Create(const KubeConfig& config, TransportOptions options) {
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckOptions(options));
  if (options.user_agent.empty()) options.user_agent = "driverupgrade/" DRIVERUPGRADE_VERSION_STRING;
  TransportSetup setup;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(setup.url, ParseServer(config));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(setup.proxy, ParseProxy(config));
  if (setup.url.https) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(setup.tls, TlsMaterial::Create(config, setup.url, options.trust_system_roots));
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(setup.tokens, TokenSource::Create(config, options, std::chrono::steady_clock::now()));
  setup.redactor = std::make_unique<Redactor>(config.client_key_pem);
  setup.options = std::move(options);
  return setup;
}

}  // namespace driverupgrade
