#include "service/finding_counts.h"

#include <set>
#include <string>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::internal {

void FindingCounts::Note(const std::vector<Finding>& findings, const LogSink& log) {
  std::map<FindingCode, int> counts;
  for (const Finding& finding : findings) ++counts[finding.code];
  std::set<FindingCode> told;
  for (const Finding& finding : findings) {
    const auto before = counts_.find(finding.code);
    if (before != counts_.end() && before->second > 0) continue;
    if (!told.insert(finding.code).second) continue;
    log({.severity = Severity::kWarning,
         .message = "finding",
         .fields = {{"code", std::string(ToString(finding.code))},
                    {"count", fmt::format("{}", counts[finding.code])},
                    {"detail", finding.message}}});
  }
  const std::lock_guard lock(mutex_);
  for (auto& [code, count] : counts_) counts.try_emplace(code, 0);
  counts_ = std::move(counts);
}

std::map<FindingCode, int> FindingCounts::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace driverupgrade::internal
