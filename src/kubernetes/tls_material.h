// The TLS credentials and requirements of a transport, parsed once for all connections. Private to src/kubernetes; for
// backends that use OpenSSL.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_TLS_MATERIAL_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_TLS_MATERIAL_H_

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "kubernetes/server_url.h"

namespace driverupgrade {

struct FreeOpenSsl {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509_STORE* p) const { X509_STORE_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
};

// Thread-safe. Must outlive the connections, which refer to it.
class TlsMaterial {
 public:
  // Errors: same as MakeCpprestTransport for the CA, the client certificate and its key.
  static absl::StatusOr<std::shared_ptr<TlsMaterial>> Create(const KubeConfig& config, const ServerUrl& url,
                                                             bool trust_system_roots);

  // Sets the protocol versions, the trusted certificates, the name check and the client certificate. Returns false if
  // OpenSSL refuses a setting.
  bool Apply(SSL_CTX* context);
  // Returns one context with all these settings, for a backend whose connections share it. The caller must free the
  // context.
  SSL_CTX* ShareContext() const;

  // The name or address that the server's certificate must contain.
  const std::string& peer_name() const { return peer_name_; }
  bool peer_is_address() const { return peer_is_address_; }
  bool verifies() const { return verifies_; }

  // Returns why a certificate was last refused, for example "certificate has expired (depth 0)", or an empty string.
  // The reason applies to all connections, because they use one server and one configuration.
  std::string LastRefusal() const;

 private:
  TlsMaterial() = default;
  absl::Status LoadTrust(const KubeConfig& config, bool trust_system_roots);
  absl::Status LoadIdentity(const KubeConfig& config);
  static int Verify(X509_STORE_CTX* store, void* self);

  std::string peer_name_;
  bool peer_is_address_ = false;
  bool verifies_ = true;
  std::unique_ptr<X509_STORE, FreeOpenSsl> trust_;
  std::unique_ptr<X509, FreeOpenSsl> certificate_;
  std::vector<std::unique_ptr<X509, FreeOpenSsl>> chain_;
  std::unique_ptr<EVP_PKEY, FreeOpenSsl> key_;
  std::unique_ptr<SSL_CTX, FreeOpenSsl> context_;
  mutable std::mutex mutex_;
  std::string last_refusal_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_TLS_MATERIAL_H_
