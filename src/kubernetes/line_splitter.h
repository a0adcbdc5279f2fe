// Splits chunks of bytes into lines, for the backends of HttpTransport. Private to src/kubernetes. Not thread-safe.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_LINE_SPLITTER_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_LINE_SPLITTER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade {

class LineSplitter {
 public:
  enum class Verdict { kMore, kSinkStopped, kLineTooLong };

  explicit LineSplitter(std::size_t line_size_max) : line_size_max_(line_size_max) {}

  // Passes every line that `chunk` completes to `sink`, and keeps the unfinished rest. Must not be called again after
  // any verdict except kMore.
  Verdict Feed(std::string_view chunk, LineSink& sink);

 private:
  Verdict Deliver(std::string_view line, LineSink& sink) const;

  std::size_t line_size_max_;
  std::string rest_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_LINE_SPLITTER_H_
