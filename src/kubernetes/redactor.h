// Removes a transport's own secrets from server responses, so that a token does not reach the log if a server echoes
// the Authorization header. Private to src/kubernetes; shared by the backends.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_REDACTOR_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_REDACTOR_H_

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade {

// Recognizes a secret verbatim, percent-encoded, JSON-escaped, and in Base64 at any offset. Does not recognize a part
// of a secret, or another encoding. A token of fewer than eight characters could be a word in any text, so it is
// removed only after "Bearer ". Thread-safe.
class Redactor {
 public:
  static constexpr std::string_view kStruck = "[redacted]";

  // `client_key_pem` may be empty. The key is never sent to a server, but its lines are removed anyway.
  explicit Redactor(const Secret& client_key_pem);
  ~Redactor();

  // Must be called before `token`, which may be empty, is sent. The last eight tokens are remembered, because a stream
  // may echo the token that opened it even after newer tokens are in use.
  void Remember(const Secret& token);

  // Returns `text` without the secrets, or nullopt if `text` contains no secret.
  std::optional<std::string> Struck(std::string_view text) const;
  void Strike(std::string& text) const;
  void Strike(HttpResponse& response) const;
  // Keeps the code and the payloads of the status.
  absl::Status Strike(const absl::Status& status) const;

 private:
  class Needle;
  using Needles = std::vector<std::shared_ptr<const Needle>>;
  struct Token {
    Secret token;
    Needles needles;
  };
  static Needles NeedlesOf(const std::set<std::string>& texts);
  std::shared_ptr<const Needles> Known() const;

  const Needles key_needles_;
  mutable std::mutex mutex_;
  std::vector<Token> tokens_;             // newest first
  std::shared_ptr<const Needles> known_;  // all secrets, longest first
};

// Forwards lines without the secrets.
class RedactingSink final : public LineSink {
 public:
  // Both arguments must outlive the sink.
  RedactingSink(const Redactor& redactor, LineSink& sink) : redactor_(redactor), sink_(sink) {}

  void OnOpen(const HttpResponse& head) override {
    HttpResponse clean = head;
    redactor_.Strike(clean);
    sink_.OnOpen(clean);
  }
  bool OnLine(std::string_view line) override {
    const std::optional<std::string> clean = redactor_.Struck(line);
    return sink_.OnLine(clean.has_value() ? std::string_view(*clean) : line);
  }

 private:
  const Redactor& redactor_;
  LineSink& sink_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_REDACTOR_H_
