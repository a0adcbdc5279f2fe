#include "test_certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdlib>
#include <memory>

namespace driverupgrade::testing_support {
namespace {

struct Free {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
};

void Require(bool ok) {
  if (!ok) std::abort();  // The test itself is broken.
}

std::string Content(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

}  // namespace

Identity MakeIdentity(const CertificateParams& params, const Identity* issuer) {
  static std::atomic<long> serial{1};
  const std::unique_ptr<EVP_PKEY, Free> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, Free> certificate(X509_new());
  Require(key != nullptr && certificate != nullptr);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), params.valid_from);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), params.valid_until);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(params.common_name.c_str()), -1, -1, 0);

  std::unique_ptr<X509, Free> signer;
  std::unique_ptr<EVP_PKEY, Free> signer_key;
  if (issuer != nullptr) {
    const std::unique_ptr<BIO, Free> pem(BIO_new_mem_buf(issuer->certificate.data(), -1));
    signer.reset(PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr));
    const std::unique_ptr<BIO, Free> key_pem(BIO_new_mem_buf(issuer->key.data(), -1));
    signer_key.reset(PEM_read_bio_PrivateKey(key_pem.get(), nullptr, nullptr, nullptr));
    Require(signer != nullptr && signer_key != nullptr);
  }
  X509* const by = signer == nullptr ? certificate.get() : signer.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(by));
  AddExtension(certificate.get(), by, NID_basic_constraints,
               params.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!params.alternative_names.empty()) {
    AddExtension(certificate.get(), by, NID_subject_alt_name, params.alternative_names);
  }
  Require(X509_sign(certificate.get(), signer_key == nullptr ? key.get() : signer_key.get(), EVP_sha256()) > 0);

  const std::unique_ptr<BIO, Free> certificate_out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certificate_out.get(), certificate.get());
  const std::unique_ptr<BIO, Free> key_out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {.certificate = Content(certificate_out.get()), .key = Content(key_out.get())};
}

}  // namespace driverupgrade::testing_support
