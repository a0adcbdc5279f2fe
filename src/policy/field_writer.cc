#include "policy/field_writer.h"

namespace driverupgrade::internal {

void FieldWriter::Seconds(std::string_view name, absl::Duration value) {
  Key(name);
  const bool for_ever = value == absl::InfiniteDuration();
  writer_.Int64(for_ever ? 0 : absl::ToInt64Seconds(absl::Ceil(value, absl::Seconds(1))));
}

}  // namespace driverupgrade::internal
