// Reads label selectors from JSON: an object's selector, and the nodes that a pod's spec allows.
#ifndef DRIVERUPGRADE_SRC_WIRE_LABEL_SELECTOR_JSON_H_
#define DRIVERUPGRADE_SRC_WIRE_LABEL_SELECTOR_JSON_H_

#include <vector>

#include "driverupgrade/label_selector.h"
#include "wire/json_document.h"

namespace driverupgrade::internal {

// Reads a selector (S12). An invalid selector selects no object, as in the eviction API (E6).
LabelSelector ReadSelector(const JsonField& field);
// Returns the nodes on which a pod may run, as one selector for each affinity term. If a term has conditions other than
// labels, its selector is the pod's nodeSelector. Empty if the pod may run on any node.
std::vector<LabelSelector> ReadNodeSelectors(const JsonField& pod_spec);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_LABEL_SELECTOR_JSON_H_
