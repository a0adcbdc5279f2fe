package host

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Identity names a driver in the keys of its labels and annotations.
type Identity struct{ Domain, Driver string }

// String returns the driver's name, in the form in which cordonedByKey lists it.
func (i Identity) String() string { return i.Domain + "/" + i.Driver }

func (i Identity) stateLabel() string { return i.String() + "-driver-upgrade-state" }

// cordonedByKey lists the drivers whose upgrades rely on the node's cordon.
const cordonedByKey = "driverupgrade/cordoned-by"

// marksOfProgress are the annotations that show an upgrade in progress even if the node has no state label. The
// driver's name in the value of cordonedByKey shows this, too.
var marksOfProgress = []string{"stage", "failed-revision", "restart-pod", "restart-only", "isolated-devices"}

// hasStarted reports whether the node's annotations show an upgrade in progress. It ignores the state label.
func (i Identity) hasStarted(node *corev1.Node) bool {
	prefix := i.String() + "-driver-upgrade"
	// The node is still waiting for a slot, although this driver's upgrade has already cordoned it.
	if strings.HasPrefix(node.Annotations[prefix+".stage"], "upgrade-required@") {
		return false
	}
	if _, maintained := node.Annotations[prefix+"-requestor-mode"]; maintained {
		return true
	}
	for _, mark := range marksOfProgress {
		if _, found := node.Annotations[prefix+"."+mark]; found {
			return true
		}
	}
	return i.isNamed(node)
}

// isNamed reports whether the annotation that names the drivers on the node's cordon contains this driver.
func (i Identity) isNamed(node *corev1.Node) bool {
	return slices.ContainsFunc(strings.Split(node.Annotations[cordonedByKey], ","), func(name string) bool {
		return strings.TrimSpace(name) == i.String()
	})
}
