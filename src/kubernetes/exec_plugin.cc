#include "kubernetes/exec_plugin.h"

#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "kubernetes/run_program.h"
#include "wire/json_document.h"

namespace driverupgrade {
namespace {

// Replaces the parser's error message, because that message may contain the plugin's output.
absl::Status NotUnderstood() { return absl::InvalidArgumentError("the plugin's output is not an ExecCredential"); }

absl::StatusOr<std::string> Run(const ExecPlugin& plugin, absl::Duration timeout, std::stop_token stop) {
  ProgramParams params{.command = {plugin.command}, .timeout = timeout, .stop = std::move(stop)};
  params.command.insert(params.command.end(), plugin.args.begin(), plugin.args.end());
  for (const auto& [name, value] : plugin.env) params.environment.push_back(fmt::format("{}={}", name, value));
  // api_version needs no escaping, because it has one of two known values.
  params.environment.push_back(fmt::format(
      R"(KUBERNETES_EXEC_INFO={{"apiVersion":"{}","kind":"ExecCredential","spec":{{"interactive":false}}}})",
      plugin.api_version));
  return RunProgram(params);
}

}  // namespace

absl::StatusOr<ExecCredential> ParseExecCredential(std::string_view json, std::string_view api_version) {
  internal::JsonDocument document;
  if (!document.Parse(json).ok()) return NotUnderstood();
  std::string error;
  const internal::JsonField root(document.root(), error);
  const internal::JsonField status = root.Member("status");
  const bool is_credential = root.Member("kind").String() == "ExecCredential";
  const bool is_version = root.Member("apiVersion").String() == api_version;
  const bool has_certificate =
      status.Member("clientCertificateData").present() || status.Member("clientKeyData").present();
  const std::string expires = status.Member("expirationTimestamp").String();
  ExecCredential credential{.token = Secret(status.Member("token").String())};
  if (!error.empty() || !is_credential) return NotUnderstood();
  if (!is_version) return absl::InvalidArgumentError("its response does not have the requested version");
  if (has_certificate) return absl::UnimplementedError("client certificates of a plugin are not supported");
  if (credential.token.empty()) return absl::InvalidArgumentError("returned no token");
  if (!expires.empty() && !absl::ParseTime(absl::RFC3339_full, expires, &credential.expires, nullptr)) {
    return absl::InvalidArgumentError("returned an invalid expiry time");
  }
  return credential;
}

absl::StatusOr<ExecCredential> RunExecPlugin(const ExecPlugin& plugin, absl::Duration timeout, std::stop_token stop) {
  const absl::StatusOr<std::string> printed = Run(plugin, timeout, std::move(stop));
  absl::Status status = printed.status();
  if (printed.ok()) {
    absl::StatusOr<ExecCredential> credential = ParseExecCredential(*printed, plugin.api_version);
    if (credential.ok()) return credential;
    status = credential.status();
  }
  if (absl::IsCancelled(status)) {
    return absl::CancelledError(fmt::format("credential plugin {}: stop requested", plugin.command));
  }
  return absl::UnauthenticatedError(fmt::format("credential plugin {}: {}", plugin.command, internal::Message(status)));
}

}  // namespace driverupgrade
