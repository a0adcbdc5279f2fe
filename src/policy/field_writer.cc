#include "policy/field_writer.h"

#include <variant>

#include "fmt/format.h"

namespace driverupgrade::internal {

void FieldWriter::Write(std::string_view name, const NumberOrPercent&, const CountOrPercent& value) {
  if (const Count* count = std::get_if<Count>(&value)) return Write(name, Number(), count->value);
  Write(name, Text(), fmt::format("{}%", std::get_if<Percent>(&value)->value));
}

void FieldWriter::Write(std::string_view name, const Seconds&, absl::Duration value) {
  const bool for_ever = value == absl::InfiniteDuration();
  Key(name);
  writer_.Int64(for_ever ? 0 : absl::ToInt64Seconds(absl::Ceil(value, absl::Seconds(1))));
}

void FieldWriter::Write(std::string_view name, const Names&, const std::vector<std::string>& value) {
  StartArray(name);
  for (const std::string& item : value) Item(item);
  EndArray();
}

}  // namespace driverupgrade::internal
