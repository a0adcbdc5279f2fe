#include "kubernetes/token_source.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kubernetes/read_file.h"

namespace driverupgrade::inline v1 {
namespace {

constexpr std::size_t kTokenSizeMax = 64 * 1024;

// A token goes into a header line as it is, so a line end in it would let its author write headers of their
// own. Visible ASCII is what RFC 6750 allows, and a little more.
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

TokenSource::TokenSource(Secret token, std::string file, absl::Duration refresh)
    : file_(std::move(file)), refresh_(absl::ToChronoNanoseconds(refresh)), token_(std::move(token)) {}

absl::StatusOr<std::unique_ptr<TokenSource>> TokenSource::Create(const KubeConfig& config, absl::Duration refresh,
                                                                 Now now) {
  Secret token;
  if (!config.token.empty()) {
    absl::StatusOr<Secret> checked = CheckToken(config.token.Reveal());
    if (!checked.ok()) {
      return absl::InvalidArgumentError(fmt::format("bearer token: {}", std::string(checked.status().message())));
    }
    token = *std::move(checked);
  }
  std::unique_ptr<TokenSource> source(new TokenSource(std::move(token), config.token_file, refresh));
  if (config.token_file.empty()) return source;
  absl::StatusOr<Secret> read = ReadToken(config.token_file);
  if (!read.ok() && source->token_.empty()) {
    std::string text = fmt::format("token file {}: {}", config.token_file, std::string(read.status().message()));
    if (absl::IsInvalidArgument(read.status())) return absl::InvalidArgumentError(text);
    return absl::UnauthenticatedError(text);
  }
  if (read.ok()) source->token_ = *std::move(read);
  source->read_at_ = now;
  return source;
}

Secret TokenSource::Get(Now now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool due = now - read_at_ >= refresh_ || (suspect_ && now - read_at_ >= std::chrono::seconds(1));
  if (file_.empty() || !due) return token_;
  read_at_ = now;
  suspect_ = false;
  absl::StatusOr<Secret> read = ReadToken(file_);
  if (read.ok()) token_ = *std::move(read);
  return token_;
}

void TokenSource::OnUnauthorized() {
  const std::lock_guard<std::mutex> lock(mutex_);
  suspect_ = true;
}

}  // namespace driverupgrade::inline v1
