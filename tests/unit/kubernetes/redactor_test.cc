// Tests which parts of a server's responses are redacted. http_redaction_test.cc tests redaction over a connection.
#include "kubernetes/redactor.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

std::string Struck(const Redactor& redactor, const std::string& text) { return redactor.Struck(text).value_or(text); }

TEST_CASE("Every occurrence of a secret in a text is redacted") {
  Redactor redactor(Secret{});
  redactor.Remember(Secret("secret-token"));
  CHECK(Struck(redactor, "secret-token, and secret-token") == "[redacted], and [redacted]");
  CHECK_FALSE(redactor.Struck("nothing of it"));
}

TEST_CASE("The last eight tokens are still redacted after they have been replaced") {
  Redactor redactor(Secret{});
  for (int i = 0; i < 9; ++i) redactor.Remember(Secret("secret-token-" + std::to_string(i)));
  CHECK(Struck(redactor, "secret-token-8") == "[redacted]");
  CHECK(Struck(redactor, "secret-token-1") == "[redacted]");
  CHECK(Struck(redactor, "secret-token-0") == "secret-token-0");
}

TEST_CASE("A secret that starts with another secret is redacted completely") {
  Redactor redactor(Secret{});
  // The longest secret must be redacted first, not the secret that was sent most recently.
  redactor.Remember(Secret("secret-token-and-more"));
  redactor.Remember(Secret("secret-token"));
  CHECK(Struck(redactor, "secret-token-and-more") == "[redacted]");
}

}  // namespace
}  // namespace driverupgrade::tests
