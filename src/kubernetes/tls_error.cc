#include "kubernetes/tls_error.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "fmt/format.h"

namespace driverupgrade {

bool IsTlsError(unsigned long code) { return code > 0xffff && ERR_GET_LIB(code) == ERR_LIB_SSL; }

bool IsVerificationFailure(unsigned long code) {
  return IsTlsError(code) && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED;
}

bool IsCertificateAlert(unsigned long code) {
  if (!IsTlsError(code)) return false;
  const int reason = ERR_GET_REASON(code);
  return (reason >= SSL_R_SSLV3_ALERT_BAD_CERTIFICATE && reason <= SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN) ||
         reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA || reason == SSL_R_TLSV1_ALERT_ACCESS_DENIED ||
         reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED;
}

bool IsUnexpectedEnd(unsigned long code) {
  return IsTlsError(code) && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

std::string TlsReason(unsigned long code) {
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? fmt::format("TLS error {:#x}", code) : reason;
}

}  // namespace driverupgrade
