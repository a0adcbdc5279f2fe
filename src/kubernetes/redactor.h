// Strikes a transport's own secrets out of what a server answers: a server that echoes the Authorization header does
// not get it into our log. Private to src/kubernetes; shared by the backends.
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

// Knows a secret as it is, percent-encoded, as JSON escapes it, and in Base64 wherever it begins there. Knows it as a
// whole only: a part of it, or another spelling, is not found. A token of fewer than eight characters may be a word of
// any text, so it is struck behind "Bearer " only.
// Thread-safe.
class Redactor {
 public:
  static constexpr std::string_view kStruck = "[redacted]";

  // `client_key_pem`: may be empty. A server is never sent it; its lines are struck all the same.
  explicit Redactor(const Secret& client_key_pem);
  ~Redactor();

  // `token`, which may be empty, is about to be sent. The eight that were sent last are known: a stream may still echo
  // the token that it was opened with when others have followed it.
  void Remember(const Secret& token);

  // `text` without the secrets; nullopt if there are none in it.
  std::optional<std::string> Struck(std::string_view text) const;
  void Strike(std::string& text) const;
  void Strike(HttpResponse& response) const;
  // Keeps the code and the payloads.
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
  std::vector<Token> tokens_;             // The newest first.
  std::shared_ptr<const Needles> known_;  // All of them, the longest first.
};

// Gives lines on without the secrets.
class RedactingSink final : public LineSink {
 public:
  // Both outlive it.
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
