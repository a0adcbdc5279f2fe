// Lists the members of Kubernetes objects that the library reads. The parser checks the other members, which are most
// of a pod's bytes, but does not keep them.
#ifndef DRIVERUPGRADE_SRC_WIRE_WANTED_MEMBERS_H_
#define DRIVERUPGRADE_SRC_WIRE_WANTED_MEMBERS_H_

#include <span>
#include <string_view>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/device_types.h"

namespace driverupgrade::internal {

// Members of an object, or of each object in an array. A member without its own list of members is kept completely. An
// empty key, which comes last, applies to all unnamed members.
struct WantedMember {
  std::string_view key;
  const WantedMember* members = nullptr;
  std::size_t count = 0;
};

using WantedMembers = std::span<const WantedMember>;

// The members that ReadObject and ReadIdentity read from an object T, and from a list or a watch event with such
// objects. Empty means all members. Every member that a reader needs must be added here, or else it always seems to be
// missing.
template <typename T>
struct Wanted {
  static constexpr WantedMembers Object() { return {}; }
  static constexpr WantedMembers List() { return {}; }
  static constexpr WantedMembers WatchEvent() { return {}; }
};

template <>
struct Wanted<Node> {
  static WantedMembers Object();
  static WantedMembers List();
  static WantedMembers WatchEvent();
};

template <>
struct Wanted<Pod> {
  static WantedMembers Object();
  static WantedMembers List();
  static WantedMembers WatchEvent();
};

template <>
struct Wanted<ResourceClaim> {
  static WantedMembers Object();
  static WantedMembers List();
  static WantedMembers WatchEvent();
};

template <>
struct Wanted<ResourceSlice> {
  static WantedMembers Object();
  static WantedMembers List();
  static WantedMembers WatchEvent();
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_WANTED_MEMBERS_H_
