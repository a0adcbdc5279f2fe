// Generates JSON of nodes and pods that resemble those of a GPU cluster: about 10 kB each, most of which the library
// does not use.
#ifndef DRIVERUPGRADE_BENCH_SCALE_WIRE_OBJECTS_H_
#define DRIVERUPGRADE_BENCH_SCALE_WIRE_OBJECTS_H_

#include <cstdint>
#include <string>

namespace driverupgrade::bench {

std::string WireNodeName(int node);

std::string NodeJson(int node, std::int64_t version);
// The first pod of each node is the driver pod.
std::string PodJson(int node, int number, std::int64_t version);

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_SCALE_WIRE_OBJECTS_H_
