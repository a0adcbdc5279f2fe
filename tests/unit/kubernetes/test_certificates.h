// Creates certificates when a test runs, so that the repository contains no certificate that can expire.
#ifndef DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEST_CERTIFICATES_H_
#define DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEST_CERTIFICATES_H_

#include <string>

namespace driverupgrade::testing_support {

// A certificate and its key, both in PEM.
struct Identity {
  std::string certificate = {};
  std::string key = {};
};

struct CertificateParams {
  std::string common_name = "test";
  // Subject alternative names in OpenSSL's notation, e.g. "IP:127.0.0.1,DNS:localhost". Empty: none.
  std::string alternative_names = {};
  bool is_authority = false;
  // Validity period, in seconds relative to now.
  long valid_from = -3600;
  long valid_until = 3600;
};

// Creates a certificate that `issuer` signs, or a self-signed certificate if `issuer` is null.
Identity MakeIdentity(const CertificateParams& params, const Identity* issuer = nullptr);

}  // namespace driverupgrade::testing_support

#endif  // DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TEST_CERTIFICATES_H_
