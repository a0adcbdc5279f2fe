// Interprets OpenSSL's error codes for a call. Private to src/kubernetes; shared by the backends.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_TLS_ERROR_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_TLS_ERROR_H_

#include <string>

namespace driverupgrade {

// Returns true for errors of the library's TLS part, not of its certificates or files.
bool IsTlsError(unsigned long code);

bool IsVerificationFailure(unsigned long code);

// An alert by which a server refuses the client's certificate. With TLS 1.3 it arrives after the client's side of the
// handshake, when the request is in transit; the server drops the request unread.
bool IsCertificateAlert(unsigned long code);

// Returns true if the peer closed the connection without an alert: a broken connection, not a refusal.
bool IsUnexpectedEnd(unsigned long code);

// "wrong version number".
std::string TlsReason(unsigned long code);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_TLS_ERROR_H_
