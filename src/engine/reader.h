// Defines the object source of an engine with threads. One implementation lists the objects in each pass; the other
// uses a cache.
#ifndef DRIVERUPGRADE_SRC_ENGINE_READER_H_
#define DRIVERUPGRADE_SRC_ENGINE_READER_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/upgrade_policy.h"
#include "ledger/ledger_steps.h"
#include "read/object_source.h"

namespace driverupgrade::internal {

// Not thread-safe.
class Reader {
 public:
  virtual ~Reader() = default;

  virtual ObjectSource& objects() = 0;
  // Must be called before a pass. `ledger` may be null. Errors: the errors of the reads.
  virtual absl::Status Begin(const CallContext& context, LedgerSteps* ledger) = 0;
  // Reads the pods of `nodes`, or starts reading them.
  virtual void ReadPods(const CallContext& context, const UpgradePolicy& policy,
                        const std::set<std::string>& nodes) = 0;
  // Drops objects that the next pass reads again. Must be called after a pass.
  virtual void End() {}
  // Returns the results of the reads that have finished since the last call, by node.
  virtual std::map<std::string, absl::Status> TakeRead() = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_READER_H_
