/// Adds requestor mode and restart-only upgrades to a random cluster.
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_REQUESTOR_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_REQUESTOR_H_

#include "property/random_cluster.h"

namespace driverupgrade::tests {

/// Adds NodeMaintenances, attempts on them, and a result of the restart-only predicate.
void AddMaintenances(SeededRandom& random, NodeView& view);

/// Returns the same cluster under an operator that is a requestor, or was one.
RandomCluster WithRequestor(const RandomCluster& cluster);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_REQUESTOR_H_
