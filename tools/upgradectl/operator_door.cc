#include "upgradectl/operator_door.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "driverupgrade/service/upgrade_service.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl/text.h"
#include "wire/json_document.h"

namespace upgradectl {
namespace {

using driverupgrade::HttpRequest;
using driverupgrade::HttpResponse;
using driverupgrade::HttpVerb;

constexpr absl::Duration kPatience = absl::Seconds(5);
// Shortest lifetime that Kubernetes allows.
constexpr absl::Duration kTokenLasts = absl::Minutes(10);
constexpr char kTokenHeader[] = "X-Driver-Upgrade-Token";

// Returns 0 if the operator does not report a port.
int PortOf(const driverupgrade::DriverIdentity& identity, const LeaseFact& lease) {
  const auto options = lease.annotations.find(driverupgrade::OptionsAnnotation(identity));
  driverupgrade::internal::JsonDocument document;
  if (options == lease.annotations.end() || !document.Parse(options->second).ok()) return 0;
  std::string error;
  const driverupgrade::internal::JsonField root(document.root(), error);
  const driverupgrade::internal::JsonField port = root.Member("rolloutPort");
  return port.Int();
}

// The holder is a pod name, which may be followed by `_` and random characters.
std::string PodOf(const LeaseFact& lease) { return lease.holder.substr(0, lease.holder.find('_')); }

absl::Status Refusal(std::string_view attempted, const HttpResponse& answer) {
  const std::optional<driverupgrade::ApiStatus> status = driverupgrade::ParseApiStatus(answer.body);
  std::string why = status ? status->message : answer.body.substr(0, answer.body.find('\n'));
  const std::string text = fmt::format("{}: {}: {}", attempted, answer.status, Printable(why));
  return answer.status == 403 ? absl::PermissionDeniedError(text) : absl::UnavailableError(text);
}

absl::StatusOr<HttpResponse> Send(driverupgrade::HttpTransport& transport, std::string_view attempted,
                                  const HttpRequest& request) {
  absl::StatusOr<HttpResponse> answer = transport.Send({.deadline = absl::Now() + kPatience}, request);
  if (!answer.ok()) return absl::UnavailableError(fmt::format("{}: {}", attempted, Message(answer.status())));
  if (answer->status < 200 || answer->status >= 300) return Refusal(attempted, *answer);
  return answer;
}

}  // namespace

absl::StatusOr<std::string> OperatorDoor::TokenFor(const LeaseFact& lease) {
  const std::string account = fmt::format("{}/{}-viewer", lease.ns, lease.name);
  if (token_ && token_->account == account && absl::Now() < token_->renew_at) return token_->text;
  const std::string attempted = fmt::format("create serviceaccounts/token {}", account);
  const HttpRequest request{
      .verb = HttpVerb::kPost,
      .path = fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}-viewer/token", lease.ns, lease.name),
      .body = fmt::format(
          R"({{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{{"expirationSeconds":{}}}}})",
          absl::ToInt64Seconds(kTokenLasts))};
  const absl::StatusOr<HttpResponse> answer = Send(*transport_, attempted, request);
  if (!answer.ok()) return answer.status();
  json::Document document;
  document.Parse<json::kParseIterativeFlag>(answer->body.data(), answer->body.size());
  const std::string token = document.HasParseError() ? "" : Text(document, {"status", "token"});
  if (token.empty()) return absl::UnavailableError(fmt::format("{}: the response has no token", attempted));
  token_ = {.account = account, .text = token, .renew_at = absl::Now() + kTokenLasts / 2};
  return token;
}

absl::StatusOr<HttpResponse> OperatorDoor::Get(const driverupgrade::DriverIdentity& identity, const LeaseFact& lease,
                                               const std::string& path) {
  if (lease.holder.empty()) return absl::NotFoundError("there is no leader");
  const int port = PortOf(identity, lease);
  if (port == 0) {
    return absl::NotFoundError(
        fmt::format("{} does not serve its view (--rollout-secure-address)", Printable(lease.holder)));
  }
  const absl::StatusOr<std::string> token = TokenFor(lease);
  if (!token.ok()) return token.status();
  const HttpRequest request{
      .path = fmt::format("/api/v1/namespaces/{}/pods/https:{}:{}/proxy{}", lease.ns, PodOf(lease), port, path),
      .headers = {{kTokenHeader, *token}}};
  return Send(*transport_, fmt::format("get pods/proxy {}/{}:{}", lease.ns, PodOf(lease), port), request);
}

}  // namespace upgradectl
