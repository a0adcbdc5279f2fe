// Defines the field kinds (field_table.h) for the windows and closed days of a rollout.
#ifndef DRIVERUPGRADE_SRC_POLICY_WINDOW_CODEC_H_
#define DRIVERUPGRADE_SRC_POLICY_WINDOW_CODEC_H_

#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/rollout_policy.h"
#include "policy/field_checker.h"
#include "policy/field_writer.h"
#include "policy/policy_section.h"

namespace driverupgrade::internal {

void ReadItem(PolicySection& list, std::string_view item, RolloutWindow& window);
void WriteItem(const RolloutWindow& window, FieldWriter& out);
void CheckItems(const std::string& path, const std::vector<RolloutWindow>& windows, FieldChecker& checker);

struct Closed {
  void Read(PolicySection& section, std::string_view name, std::vector<ClosedDays>& value) const;
  void Write(FieldWriter& out, std::string_view name, const std::vector<ClosedDays>& value) const;
  void Check(FieldChecker& checker, const std::string& path, const std::vector<ClosedDays>& value) const;
};
struct ZoneName {
  void Read(PolicySection& section, std::string_view name, TimeZoneTable& value) const;
  void Write(FieldWriter& out, std::string_view name, const TimeZoneTable& value) const;
};

// Returns a string such as `2026-12-24/2027-01-02`, or a single day.
std::string FormatClosedDays(const ClosedDays& days);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_WINDOW_CODEC_H_
