/// Adds requestor mode and restart-only upgrades to a random cluster.
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_REQUESTOR_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_REQUESTOR_H_

#include "property/random_cluster.h"

namespace driverupgrade::tests {

/// Adds NodeMaintenances, attempts to change them, and a result of the restart-only predicate.
void AddMaintenances(SeededRandom& random, NodeView& view);

/// Returns the same cluster with an operator that is, or was, a requestor.
RandomCluster WithRequestor(const RandomCluster& cluster);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_RANDOM_REQUESTOR_H_
