// Threads that send requests, because transport calls block but decisions must not.
#ifndef DRIVERUPGRADE_BENCH_LIMIT_SENDERS_H_
#define DRIVERUPGRADE_BENCH_LIMIT_SENDERS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace driverupgrade::bench {

class Senders {
 public:
  explicit Senders(int threads);
  // Drops tasks that have not started, and waits for running tasks.
  ~Senders();
  Senders(const Senders&) = delete;
  Senders& operator=(const Senders&) = delete;

  // Starts tasks in call order. Never blocks.
  void Post(std::function<void()> task);

 private:
  void Work(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::jthread> threads_;  // last: destroyed before the members that they use
};

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_LIMIT_SENDERS_H_
