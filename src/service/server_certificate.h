// Creates a self-signed certificate for a server. The certificate enables encryption, but does not prove the server's
// identity; clients that need such proof must connect through the API server.
#ifndef DRIVERUPGRADE_SRC_SERVICE_SERVER_CERTIFICATE_H_
#define DRIVERUPGRADE_SRC_SERVICE_SERVER_CERTIFICATE_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {

struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

struct ServerCertificate {
  // Neither pointer is null.
  std::unique_ptr<X509, FreeCertificate> certificate = nullptr;
  std::unique_ptr<EVP_PKEY, FreeCertificate> key = nullptr;
};

// Creates a certificate that is signed with its own key and valid for ten years. Errors: Internal if OpenSSL cannot
// create the certificate.
absl::StatusOr<ServerCertificate> MakeServerCertificate();

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_SERVER_CERTIFICATE_H_
