#include "service/server_certificate.h"

#include <openssl/ec.h>
#include <openssl/rand.h>

#include <cstdint>

namespace driverupgrade::internal {
namespace {

constexpr long kDay = 24L * 60 * 60;

std::unique_ptr<EVP_PKEY, FreeCertificate> MakeKey() {
  const auto free = [](EVP_PKEY_CTX* context) { EVP_PKEY_CTX_free(context); };
  const std::unique_ptr<EVP_PKEY_CTX, decltype(free)> context(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nullptr), free);
  EVP_PKEY* key = nullptr;
  const bool made = context != nullptr && EVP_PKEY_keygen_init(context.get()) == 1 &&
                    EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context.get(), NID_X9_62_prime256v1) == 1 &&
                    EVP_PKEY_keygen(context.get(), &key) == 1;
  return std::unique_ptr<EVP_PKEY, FreeCertificate>(made ? key : nullptr);
}

// Sets a random serial number: all certificates of this library have the same issuer, so their serial numbers must
// differ.
bool SetSerialNumber(X509* certificate) {
  std::uint64_t number = 0;
  return RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof(number)) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number >> 1) == 1;
}

bool SetName(X509* certificate) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>("driverupgrade");
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1;
}

}  // namespace

absl::StatusOr<ServerCertificate> MakeServerCertificate() {
  ServerCertificate made{.certificate = std::unique_ptr<X509, FreeCertificate>(X509_new()), .key = MakeKey()};
  X509* const certificate = made.certificate.get();
  const bool ok = certificate != nullptr && made.key != nullptr && X509_set_version(certificate, 2) == 1 &&
                  SetSerialNumber(certificate) && SetName(certificate) &&
                  // Valid since yesterday, because the clocks of clients may be slow.
                  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay) != nullptr &&
                  X509_gmtime_adj(X509_getm_notAfter(certificate), 3650 * kDay) != nullptr &&
                  X509_set_pubkey(certificate, made.key.get()) == 1 &&
                  X509_sign(certificate, made.key.get(), EVP_sha256()) > 0;
  if (!ok) return absl::InternalError("cannot create a certificate for the rollout page");
  return made;
}

}  // namespace driverupgrade::internal
