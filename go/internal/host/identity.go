package host

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Identity says which driver's keys the nodes have.
type Identity struct{ Domain, Driver string }

// String names the driver, as in the annotation that tells whose a cordon is.
func (i Identity) String() string { return i.Domain + "/" + i.Driver }

func (i Identity) stateLabel() string { return i.String() + "-driver-upgrade-state" }

const cordonedByKey = "driverupgrade/cordoned-by"

// What the engine leaves on a node between its admission and its end, beside the state label and the name on the cordon.
var marksOfProgress = []string{"stage", "failed-revision", "restart-pod", "restart-only"}

// hasStarted tells whether the node has marks of an upgrade in progress, whatever its state label.
func (i Identity) hasStarted(node *corev1.Node) bool {
	for _, mark := range marksOfProgress {
		if _, found := node.Annotations[i.String()+"-driver-upgrade."+mark]; found {
			return true
		}
	}
	return slices.Contains(strings.Split(node.Annotations[cordonedByKey], ","), i.String())
}
