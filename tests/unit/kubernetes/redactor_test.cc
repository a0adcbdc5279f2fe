// Tests which parts of a server's responses are redacted. http_redaction_test.cc tests the same over a connection.
#include "kubernetes/redactor.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

std::string Struck(const Redactor& redactor, const std::string& text) { return redactor.Struck(text).value_or(text); }

TEST_CASE("A secret is redacted as often as it occurs in a text") {
  Redactor redactor(Secret{});
  redactor.Remember(Secret("secret-token"));
  CHECK(Struck(redactor, "secret-token, and secret-token") == "[redacted], and [redacted]");
  CHECK_FALSE(redactor.Struck("nothing of it"));
}

TEST_CASE("A token that others have replaced is still a secret, up to the eighth") {
  Redactor redactor(Secret{});
  for (int i = 0; i < 9; ++i) redactor.Remember(Secret("secret-token-" + std::to_string(i)));
  CHECK(Struck(redactor, "secret-token-8") == "[redacted]");
  CHECK(Struck(redactor, "secret-token-1") == "[redacted]");
  CHECK(Struck(redactor, "secret-token-0") == "secret-token-0");
}

TEST_CASE("A secret that starts with another secret is redacted completely") {
  Redactor redactor(Secret{});
  // Without the rule, the redactor would look for the last secret sent first.
  redactor.Remember(Secret("secret-token-and-more"));
  redactor.Remember(Secret("secret-token"));
  CHECK(Struck(redactor, "secret-token-and-more") == "[redacted]");
}

}  // namespace
}  // namespace driverupgrade::tests
