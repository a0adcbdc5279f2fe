// Interprets the OpenSSL error codes of a call. Private to src/kubernetes; shared by the backends.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_TLS_ERROR_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_TLS_ERROR_H_

#include <string>

namespace driverupgrade {

// Returns true for errors of OpenSSL's TLS code, but not for errors of certificates or files.
bool IsTlsError(unsigned long code);

bool IsVerificationFailure(unsigned long code);

// Returns true for an alert with which a server refuses the client's certificate. With TLS 1.3, the alert arrives after
// the client has finished its handshake and sent the request, which the server drops unread.
bool IsCertificateAlert(unsigned long code);

// Returns true if the peer closed the connection without an alert. This is a broken connection, not a refusal.
bool IsUnexpectedEnd(unsigned long code);

// Returns a message such as "wrong version number".
std::string TlsReason(unsigned long code);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_TLS_ERROR_H_
