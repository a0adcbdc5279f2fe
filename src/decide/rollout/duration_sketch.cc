#include "decide/rollout/duration_sketch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace driverupgrade::internal {
namespace {

// Upper bounds of the histogram buckets, in seconds: 1, 2, 3, 4, 5, 6, 8, 10, 12, ... up to more than a week.
constexpr auto kStepEnds = [] {
  std::array<std::int64_t, 76> ends = {1};
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] = (ends[i - 1] * 6 + 4) / 5;
  return ends;
}();
static_assert(kStepEnds.back() > 7 * 24 * 3600);

}  // namespace

void DurationSketch::Add(absl::Duration took) {
  const auto step = std::lower_bound(kStepEnds.begin(), kStepEnds.end() - 1,
                                     absl::ToInt64Seconds(absl::Ceil(took, absl::Seconds(1))));
  ++counts_[static_cast<int>(step - kStepEnds.begin())];
  if (Samples() > kSamplesMax) Age();
}

std::optional<absl::Duration> DurationSketch::Quantile(int percent) const {
  const int samples = Samples();
  if (samples < kSamplesMin) return std::nullopt;
  int below = 0;
  for (const auto& [step, count] : counts_) {
    below += count;
    if (100 * below >= percent * samples) return absl::Seconds(kStepEnds[static_cast<std::size_t>(step)]);
  }
  return absl::Seconds(kStepEnds.back());
}

DurationSketch DurationSketch::FromCounts(const std::map<int, int>& counts) {
  DurationSketch sketch;
  for (const auto& [step, count] : counts) {
    if (step < 0 || step >= static_cast<int>(kStepEnds.size()) || count <= 0 || count > kSamplesMax) continue;
    sketch.counts_[step] = count;
  }
  while (sketch.Samples() > kSamplesMax) sketch.Age();
  return sketch;
}

int DurationSketch::Samples() const {
  int samples = 0;
  for (const auto& [step, count] : counts_) samples += count;
  return samples;
}

void DurationSketch::Age() {
  for (auto& [step, count] : counts_) count /= 2;
  std::erase_if(counts_, [](const auto& step) { return step.second == 0; });
}

}  // namespace driverupgrade::internal
