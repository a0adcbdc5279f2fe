#include "support/chosen_transport.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/catch.h"

namespace examples {
namespace {

using driverupgrade::KubeConfig;

// Sets $SSL_CERT_FILE to `before` (or unsets it if `before` is null), creates a transport, and returns the resulting
// value.
std::string CertificatesAfter(const char* before, const KubeConfig& config) {
  unsetenv("SSL_CERT_FILE");
  if (before != nullptr) setenv("SSL_CERT_FILE", before, 1);
  (void)MakeChosenTransport("cpprest", config);
  const char* const after = std::getenv("SSL_CERT_FILE");
  const std::string text = after == nullptr ? "not set" : after;
  unsetenv("SSL_CERT_FILE");
  return text;
}

TEST_CASE("cpprestsdk skips the system's certificates, unless they may be needed") {
  const std::vector<std::string> names = TransportNames();
  if (std::find(names.begin(), names.end(), "cpprest") == names.end()) return;
  const KubeConfig own_authority{.server = "https://127.0.0.1:1", .ca_pem = "an authority"};
  CHECK(CertificatesAfter(nullptr, own_authority) == "/dev/null");
  CHECK(CertificatesAfter("/etc/bundle", own_authority) == "/etc/bundle");
  KubeConfig with_plugin = own_authority;
  with_plugin.exec.emplace();
  CHECK(CertificatesAfter(nullptr, with_plugin) == "not set");
  CHECK(CertificatesAfter(nullptr, {.server = "https://127.0.0.1:1"}) == "not set");
}

}  // namespace
}  // namespace examples
