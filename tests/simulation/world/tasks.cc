#include "simulation/world/tasks.h"

#include <optional>

namespace driverupgrade::testing::internal {

void Tasks::Submit(std::function<void()> task) {
  queue_.push_back({.run = std::move(task), .writer = cluster_->writer()});
}

void Tasks::BeforeWait() {
  while (!queue_.empty()) RunNext();
}

void Tasks::RunNext() {
  const int place = random_.Below(static_cast<int>(queue_.size()));
  std::swap(queue_[static_cast<std::size_t>(place)], queue_.back());
  Task task = std::move(queue_.back());
  queue_.pop_back();
  if (running_ > 0) world_.CameBy(Mode::kInFlight);
  ++running_;
  std::optional<Writer> sender = cluster_->ExchangeSender(std::move(task.writer));
  task.run();
  cluster_->ExchangeSender(std::move(sender));
  --running_;
}

}  // namespace driverupgrade::testing::internal
