// Detects objects that could not be read (cluster_types.h), and describes the reason.
#ifndef DRIVERUPGRADE_SRC_MODEL_UNREADABLE_H_
#define DRIVERUPGRADE_SRC_MODEL_UNREADABLE_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "fmt/format.h"
#include "model/object_key.h"

namespace driverupgrade::internal {

template <typename T>
bool IsUnreadable(const T& object) {
  return !object.unreadable.empty();
}

template <typename T>
bool AnyUnreadable(const std::vector<T>& objects) {
  return std::any_of(objects.begin(), objects.end(), IsUnreadable<T>);
}

// Returns true if the labels match, or if the object is unreadable and has no labels, because the labels may be the
// part that could not be read.
template <typename T>
bool MayMatch(const LabelSelector& selector, const T& object) {
  return (IsUnreadable(object) && object.labels.empty()) || selector.Matches(object.labels);
}

inline std::string_view UidOf(const Pod& pod) { return pod.ref.uid; }
inline std::string_view UidOf(const ControllerRevision&) { return {}; }
template <typename T>
std::string_view UidOf(const T& object) {
  return object.uid;
}

// Returns a text such as `Pod shop/web-1 (UID 4711) cannot be read: spec.nodeName: expected a string, got a number`.
template <typename T>
std::string CannotBeRead(std::string_view kind, const T& object) {
  const std::string uid = UidOf(object).empty() ? std::string() : fmt::format(" (UID {})", UidOf(object));
  return fmt::format("{} {}{} cannot be read: {}", kind, KeyOf(object), uid, object.unreadable);
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_UNREADABLE_H_
