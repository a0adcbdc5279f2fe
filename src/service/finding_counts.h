// Stores the director's findings, and counts them for metrics. Logs each code when it first appears, and again only if
// the code disappears and returns.
#ifndef DRIVERUPGRADE_SRC_SERVICE_FINDING_COUNTS_H_
#define DRIVERUPGRADE_SRC_SERVICE_FINDING_COUNTS_H_

#include <map>
#include <mutex>
#include <vector>

#include "driverupgrade/gate.h"
#include "driverupgrade/observer.h"

namespace driverupgrade::internal {

// Note must be called by one thread; counts may be called by any thread.
class FindingCounts {
 public:
  // Replaces the findings. Logs the first finding of each new code.
  void Note(const std::vector<Finding>& findings, const LogSink& log);
  // Returns the number of findings by code. The number is 0 for a code whose findings have all disappeared.
  std::map<FindingCode, int> counts() const;

 private:
  mutable std::mutex mutex_;
  std::map<FindingCode, int> counts_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_FINDING_COUNTS_H_
