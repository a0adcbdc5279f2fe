// Truncates messages to the maximum length of an Event message.
#ifndef DRIVERUPGRADE_SRC_OBSERVE_EVENT_MESSAGE_H_
#define DRIVERUPGRADE_SRC_OBSERVE_EVENT_MESSAGE_H_

#include <cstddef>
#include <string>

namespace driverupgrade::internal {

// Truncates the message, because the API server rejects Events with longer messages.
inline std::string CutEventMessage(std::string message) {
  constexpr std::size_t kBytesMax = 1024;
  if (message.size() > kBytesMax) message.resize(kBytesMax);
  return message;
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_OBSERVE_EVENT_MESSAGE_H_
