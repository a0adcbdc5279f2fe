#include "kubernetes/tls_material.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <utility>

#include "fmt/format.h"

namespace driverupgrade {
namespace {

using Certificates = std::vector<std::unique_ptr<X509, FreeOpenSsl>>;

bool IsAddress(const std::string& text) {
  unsigned char address[16];
  return inet_pton(AF_INET, text.c_str(), address) == 1 || inet_pton(AF_INET6, text.c_str(), address) == 1;
}

// Replaces OpenSSL's default callback, which prompts for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

// Returns the newest entry of this thread's OpenSSL error queue, and empties the queue.
std::string TakeOpenSslReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "unknown reason" : reason;
}

std::unique_ptr<BIO, FreeOpenSsl> OpenText(const std::string& text) {
  return std::unique_ptr<BIO, FreeOpenSsl>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Parses all certificates of a PEM text. Errors: InvalidArgument if the text contains no certificate or a malformed
// certificate.
absl::StatusOr<Certificates> ParseCertificates(const std::string& pem, const char* what) {
  ERR_clear_error();
  const std::unique_ptr<BIO, FreeOpenSsl> text = OpenText(pem);
  Certificates certificates;
  while (true) {
    std::unique_ptr<X509, FreeOpenSsl> certificate(PEM_read_bio_X509(text.get(), nullptr, NoPassphrase, nullptr));
    if (certificate == nullptr) break;
    certificates.push_back(std::move(certificate));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (at_end && certificates.empty()) {
    ERR_clear_error();
    return absl::InvalidArgumentError(fmt::format("{}: contains no PEM certificate", what));
  }
  if (!at_end) {
    return absl::InvalidArgumentError(
        fmt::format("{}: certificate {}: {}", what, certificates.size() + 1, TakeOpenSslReason()));
  }
  ERR_clear_error();
  return certificates;
}

}  // namespace

absl::StatusOr<std::shared_ptr<TlsMaterial>> TlsMaterial::Create(const KubeConfig& config, const ServerUrl& url,
                                                                 bool trust_system_roots) {
  std::shared_ptr<TlsMaterial> material(new TlsMaterial());
  material->peer_name_ = config.tls_server_name.empty() ? url.host : config.tls_server_name;
  material->peer_is_address_ = IsAddress(material->peer_name_);
  material->verifies_ = !config.insecure_skip_tls_verify;
  absl::Status status = material->LoadTrust(config, trust_system_roots);
  if (status.ok()) status = material->LoadIdentity(config);
  if (!status.ok()) return status;
  material->context_.reset(SSL_CTX_new(TLS_client_method()));
  if (material->context_ == nullptr || !material->Apply(material->context_.get())) {
    return absl::InternalError(fmt::format("OpenSSL refuses the TLS settings: {}", TakeOpenSslReason()));
  }
  return material;
}

absl::Status TlsMaterial::LoadTrust(const KubeConfig& config, bool trust_system_roots) {
  trust_.reset(X509_STORE_new());
  if (trust_ == nullptr) return absl::ResourceExhaustedError("no memory for a certificate store");
  if (!verifies_) return absl::OkStatus();
  if (config.ca_pem.empty()) {
    if (!trust_system_roots) {
      return absl::FailedPreconditionError(
          "no certificate authority is given for an https server (trust_system_roots would allow the "
          "system's)");
    }
    if (X509_STORE_set_default_paths(trust_.get()) == 1) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format("system certificate authorities: {}", TakeOpenSslReason()));
  }
  absl::StatusOr<Certificates> authorities = ParseCertificates(config.ca_pem, "certificate authority");
  if (!authorities.ok()) return authorities.status();
  for (const auto& authority : *authorities) X509_STORE_add_cert(trust_.get(), authority.get());
  // Every certificate from the administrator is trusted, including intermediate authorities. Go's TLS library does the
  // same.
  X509_STORE_set_flags(trust_.get(), X509_V_FLAG_PARTIAL_CHAIN);
  ERR_clear_error();
  return absl::OkStatus();
}

absl::Status TlsMaterial::LoadIdentity(const KubeConfig& config) {
  if (config.client_certificate_pem.empty() && config.client_key_pem.empty()) return absl::OkStatus();
  if (config.client_certificate_pem.empty() || config.client_key_pem.empty()) {
    return absl::InvalidArgumentError("client certificate and client key must be given together");
  }
  absl::StatusOr<Certificates> certificates = ParseCertificates(config.client_certificate_pem, "client certificate");
  if (!certificates.ok()) return certificates.status();
  const std::unique_ptr<BIO, FreeOpenSsl> text = OpenText(config.client_key_pem.Reveal());
  key_.reset(PEM_read_bio_PrivateKey(text.get(), nullptr, NoPassphrase, nullptr));
  if (key_ == nullptr) {
    return absl::InvalidArgumentError(fmt::format("client key: {}", TakeOpenSslReason()));
  }
  certificate_ = std::move(certificates->front());
  for (std::size_t i = 1; i < certificates->size(); ++i) chain_.push_back(std::move((*certificates)[i]));
  if (X509_check_private_key(certificate_.get(), key_.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("client key: does not match the client certificate");
  }
  return absl::OkStatus();
}

bool TlsMaterial::Apply(SSL_CTX* context) {
  bool ok = SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set1_cert_store(context, trust_.get());
  if (verifies_) SSL_CTX_set_cert_verify_callback(context, &TlsMaterial::Verify, this);
  if (certificate_ != nullptr) {
    ok = ok && SSL_CTX_use_certificate(context, certificate_.get()) == 1;
    for (const auto& link : chain_) ok = ok && SSL_CTX_add1_chain_cert(context, link.get()) == 1;
    ok = ok && SSL_CTX_use_PrivateKey(context, key_.get()) == 1;
  }
  ERR_clear_error();
  return ok;
}

SSL_CTX* TlsMaterial::ShareContext() const {
  SSL_CTX_up_ref(context_.get());
  return context_.get();
}

// Runs OpenSSL's verification with the name check of RFC 6125, because the check in cpprestsdk accepts a common name.
// Stores the reason for a refusal, which the handshake error does not contain.
int TlsMaterial::Verify(X509_STORE_CTX* store, void* self) {
  auto* material = static_cast<TlsMaterial*>(self);
  X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(store);
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const std::string& name = material->peer_name_;
  const int named = material->peer_is_address_ ? X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str())
                                               : X509_VERIFY_PARAM_set1_host(param, name.data(), name.size());
  const bool verified = named == 1 && X509_verify_cert(store) == 1;
  std::string refusal;
  if (!verified) {
    const int error = named == 1 ? X509_STORE_CTX_get_error(store) : X509_V_ERR_HOSTNAME_MISMATCH;
    refusal = fmt::format("{} (depth {})", X509_verify_cert_error_string(error), X509_STORE_CTX_get_error_depth(store));
  }
  const std::lock_guard<std::mutex> lock(material->mutex_);
  if (!verified) material->last_refusal_ = std::move(refusal);
  return verified ? 1 : 0;
}

std::string TlsMaterial::LastRefusal() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_refusal_;
}

}  // namespace driverupgrade
