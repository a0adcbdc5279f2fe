// Certificates made when a test runs, so that none expires in the repository.
#ifndef DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEST_CERTIFICATES_H_
#define DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEST_CERTIFICATES_H_

#include <string>

namespace driverupgrade::testing_support {

// A certificate and its key, both PEM.
struct Identity {
  std::string certificate = {};
  std::string key = {};
};

struct CertificateParams {
  std::string common_name = "test";
  // OpenSSL's notation, e.g. "IP:127.0.0.1,DNS:localhost". None when empty.
  std::string alternative_names = {};
  bool is_authority = false;
  // Relative to now, in seconds.
  long valid_from = -3600;
  long valid_until = 3600;
};

// Self-signed when `issuer` is null.
Identity MakeIdentity(const CertificateParams& params, const Identity* issuer = nullptr);

}  // namespace driverupgrade::testing_support

#endif  // DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEST_CERTIFICATES_H_
