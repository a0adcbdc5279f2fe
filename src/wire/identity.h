// Reads the fields that identify an object, even if other fields cannot be read.
#ifndef DRIVERUPGRADE_SRC_WIRE_IDENTITY_H_
#define DRIVERUPGRADE_SRC_WIRE_IDENTITY_H_

#include <string>
#include <string_view>

#include "wire/json_document.h"

namespace driverupgrade::internal {

inline std::string ReadName(const JsonField& metadata) {
  const JsonField field = metadata.Member("name");
  std::string name = field.String();
  if (name.empty()) field.Fail("expected a name, got nothing");
  return name;
}

// Returns the result of `read` for the member, or a default-constructed value of that type if the member cannot be
// read.
template <typename F>
auto IfReadable(const JsonField& object, std::string_view member, F&& read) {
  std::string error;
  const JsonField apart = object.Detached(error);
  const JsonField field = apart.Member(member);
  auto value = read(field);
  return error.empty() ? value : decltype(value)();
}

inline std::string TextIfReadable(const JsonField& object, std::string_view member, std::string_view of_it) {
  return IfReadable(object, member, [&](const JsonField& field) { return field.Member(of_it).String(); });
}

inline StringMap LabelsIfReadable(const JsonField& object) {
  return IfReadable(object, "metadata", [](const JsonField& field) { return field.Member("labels").Strings(); });
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_IDENTITY_H_
