#include "kubernetes/token_source.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "fmt/format.h"
#include "kubernetes/exec_plugin.h"
#include "kubernetes/read_file.h"

namespace driverupgrade {
namespace {

constexpr std::size_t kTokenSizeMax = std::size_t{64} * 1024;
// Practically unlimited, but far below the limits of any clock.
constexpr absl::Duration kLongest = absl::Hours(24 * 365);

// Allows only visible ASCII characters, which is slightly more than RFC 6750 allows. A token is copied verbatim into a
// header line, so a line end would let the token's author add headers.
absl::StatusOr<Secret> CheckToken(std::string text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  if (text.empty()) return absl::InvalidArgumentError("empty");
  const bool visible = std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!visible) return absl::InvalidArgumentError("has a space, a control character or a non-ASCII character");
  if (text.size() > kTokenSizeMax) {
    return absl::InvalidArgumentError(fmt::format("longer than {} bytes", kTokenSizeMax));
  }
  return Secret(std::move(text));
}

absl::StatusOr<Secret> ReadToken(const std::string& file) {
  absl::StatusOr<std::string> text = ReadFile(file, kTokenSizeMax + 2);
  if (!text.ok()) return text.status();
  return CheckToken(*std::move(text));
}

}  // namespace

TokenSource::TokenSource(Secret token, const KubeConfig& config, const TransportOptions& options)
    : file_(config.token_file),
      exec_(config.exec),
      exec_timeout_(options.exec_timeout),
      refresh_(absl::ToChronoNanoseconds(std::min(options.token_refresh, kLongest))),
      token_(std::move(token)) {}

absl::StatusOr<std::unique_ptr<TokenSource>> TokenSource::Create(const KubeConfig& config,
                                                                 const TransportOptions& options, Now now) {
  Secret token;
  if (!config.token.empty()) {
    absl::StatusOr<Secret> checked = CheckToken(config.token.Reveal());
    if (!checked.ok()) {
      return absl::InvalidArgumentError(fmt::format("bearer token: {}", std::string(checked.status().message())));
    }
    token = *std::move(checked);
  }
  std::unique_ptr<TokenSource> source(new TokenSource(std::move(token), config, options));
  if (config.token_file.empty()) return source;
  const absl::Status read = source->ReadAgain(now, {});
  if (read.ok() || !source->token_.empty()) return source;
  const std::string text = fmt::format("token file {}: {}", config.token_file, std::string(read.message()));
  if (absl::IsInvalidArgument(read)) return absl::InvalidArgumentError(text);
  return absl::UnauthenticatedError(text);
}

absl::StatusOr<Secret> TokenSource::Get(Now now, const std::stop_token& stop) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (IsRenewable() && now >= renew_at_) failure_ = ReadAgain(now, stop);
  if (!failure_.ok() && token_.empty()) return MarkRequestNotSent(failure_);
  return token_;
}

bool TokenSource::Renew(const Secret& refused, Now now, const std::stop_token& stop) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Another call may already have renewed the token.
  if (!(token_ == refused)) return true;
  if (!IsRenewable() || (renewed_at_.has_value() && now - *renewed_at_ < std::chrono::seconds(1))) return false;
  renewed_at_ = now;
  const bool read = ReadAgain(now, stop).ok();
  // If a plugin runs, the pause of one second starts when the plugin ends.
  if (exec_.has_value()) renewed_at_ = std::max(now, ended_at_);
  return read && !(token_ == refused);
}

absl::Status TokenSource::ReadAgain(Now now, const std::stop_token& stop) {
  if (exec_.has_value()) return RunPlugin(now, stop);
  renew_at_ = now + refresh_;
  absl::StatusOr<Secret> read = ReadToken(file_);
  if (!read.ok()) return read.status();
  token_ = *std::move(read);
  return absl::OkStatus();
}

// Without an expiry time, a token is valid until it is refused. After a failure, the next run starts one refresh
// interval after the end of the failed run, so that a plugin that hangs does not delay every call.
absl::Status TokenSource::RunPlugin(Now now, const std::stop_token& stop) {
  const Now began = std::chrono::steady_clock::now();
  absl::StatusOr<ExecCredential> credential = RunExecPlugin(*exec_, exec_timeout_, stop);
  if (absl::IsCancelled(credential.status())) return credential.status();  // not caused by the plugin
  now += std::chrono::steady_clock::now() - began;
  ended_at_ = now;
  renew_at_ = now + refresh_;
  if (!credential.ok()) return credential.status();
  absl::StatusOr<Secret> token = CheckToken(credential->token.Reveal());
  if (!token.ok()) {
    return absl::UnauthenticatedError(
        fmt::format("credential plugin {}: its token {}", exec_->command, std::string(token.status().message())));
  }
  token_ = *std::move(token);
  const absl::Duration left = std::clamp(credential->expires - absl::Now(), absl::ZeroDuration(), kLongest);
  renew_at_ = now + absl::ToChronoNanoseconds(left);
  return absl::OkStatus();
}

}  // namespace driverupgrade
