// Trace of a simulation, always recorded as a hash, and on request also as text.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TRACE_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "fmt/format.h"

namespace driverupgrade::testing::internal {

class Trace {
 public:
  Trace(const FakeClock& clock, bool on, std::size_t lines_max) : clock_(clock), on_(on), lines_max_(lines_max) {}

  bool on() const { return on_; }
  // Adds a line such as `t=12.5s admin: cordon n1`. Check on() first if the arguments are expensive to compute.
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    if (!on_) return;
    lines_.push_back(fmt::format("t={:.3f} ", absl::ToDoubleSeconds(clock_.Now() - FakeClock::DefaultStart())) +
                     fmt::format(format, std::forward<Args>(args)...));
    if (lines_.size() > lines_max_) lines_.pop_front();
  }
  // Implements FNV-1a.
  void Hash(std::uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8U) hash_ = (hash_ ^ (value & 0xFFU)) * 1099511628211ULL;
  }
  void Hash(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }

  std::uint64_t hash() const { return hash_; }
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  const FakeClock& clock_;
  const bool on_;
  const std::size_t lines_max_;
  std::uint64_t hash_ = 14695981039346656037ULL;
  std::deque<std::string> lines_;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TRACE_H_
