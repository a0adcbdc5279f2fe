// Writes the taints of a node, for objects and for patches.
#ifndef DRIVERUPGRADE_SRC_WIRE_TAINT_JSON_H_
#define DRIVERUPGRADE_SRC_WIRE_TAINT_JSON_H_

#include <vector>

#include "driverupgrade/cluster_types.h"
#include "wire/json_writer.h"

namespace driverupgrade::internal {

inline void WriteTaints(JsonWriter& writer, const std::vector<Taint>& taints) {
  writer.ArrayMember("taints", [&] {
    for (const Taint& taint : taints) {
      writer.Object([&] {
        writer.Member("key", taint.key);
        writer.MemberIfAny("value", taint.value);
        writer.MemberIfAny("effect", taint.effect);
        writer.MemberIfAny("timeAdded", taint.time_added);
      });
    }
  });
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_TAINT_JSON_H_
