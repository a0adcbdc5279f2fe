// Collects the data for the rollout page, with an observer for each engine. All readers get the same document.
//
//     RolloutBoard board(identity, clock, [this] { return StatusesOfEngines(); });
//     engine.observer = MakeObserverGroup({metrics, board.ObserverOf("cluster-policy")});
//     const RolloutBoard::Document document = board.Tell();
#ifndef DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_BOARD_H_
#define DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_BOARD_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"
#include "report/node_histories.h"

namespace driverupgrade::internal {

// The engines that run now.
struct EnginesSeen {
  bool leads = false;
  std::string replica = {};
  // The reason why the process makes no progress; empty if it makes progress.
  std::string trouble = {};
  // The status of each engine, by policy name.
  std::map<std::string, FleetStatus> engines = {};
};

// Thread-safe.
class RolloutBoard {
 public:
  struct Document {
    // The document without the current time.
    std::shared_ptr<const std::string> text = nullptr;
    // Tag of the text: different texts have different tags.
    std::string etag = {};
  };

  // `look` may be called by any thread.
  RolloutBoard(DriverIdentity identity, std::shared_ptr<const Clock> clock, std::function<EnginesSeen()> look);
  ~RolloutBoard();

  // The observer may outlive the board.
  std::shared_ptr<Observer> ObserverOf(const std::string& engine);
  // Returns the document, which is formatted at most once a second. Sends no requests, and does not wait for a pass.
  Document Tell();
  const Clock& clock() const { return *clock_; }

 private:
  class Record;

  std::string Format() const;

  const DriverIdentity identity_;
  const std::shared_ptr<const Clock> clock_;
  const std::function<EnginesSeen()> look_;
  mutable std::mutex records_mutex_;
  std::map<std::string, std::shared_ptr<Record>> records_;  // by engine
  std::mutex document_mutex_;
  Document document_;
  absl::Time made_at_ = absl::InfinitePast();
  const absl::Time began_ = absl::Now();
  int version_ = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_ROLLOUT_BOARD_H_
