// Returns the key of an object among objects of its kind: `name`, or `ns/name` if the kind is namespaced.
#ifndef DRIVERUPGRADE_SRC_MODEL_OBJECT_KEY_H_
#define DRIVERUPGRADE_SRC_MODEL_OBJECT_KEY_H_

#include <string>

#include "driverupgrade/cluster_types.h"

namespace driverupgrade::internal {

inline std::string KeyOf(const Pod& pod) { return pod.ref.ToString(); }
template <typename T>
std::string KeyOf(const T& object) {
  if constexpr (requires { object.ns; }) {
    return object.ns + "/" + object.name;
  } else {
    return object.name;
  }
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_OBJECT_KEY_H_
