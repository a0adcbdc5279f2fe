// Defines the error payload that marks a request as not sent to the server. RequestWasNotSent checks for it.
#ifndef DRIVERUPGRADE_SRC_MODEL_REQUEST_NOT_SENT_H_
#define DRIVERUPGRADE_SRC_MODEL_REQUEST_NOT_SENT_H_

namespace driverupgrade::internal {

inline constexpr char kNotSentPayload[] = "driverupgrade.dev/request-not-sent";

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_REQUEST_NOT_SENT_H_
