package upgrade

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// DriverName is the driver that the keys below are about. The old interface has it as a variable of the package; what
// this module makes beyond that interface takes the name as an argument.
var DriverName string

// SetDriverName sets DriverName; to be called before anything else, from one goroutine.
func SetDriverName(driver string) { DriverName = driver }

const keyDomain = "nvidia.com/"

func driverKey(driver, suffix string) string { return keyDomain + driver + "-driver-upgrade" + suffix }

// GetUpgradeStateLabelKey is the node label with the state of the node's upgrade.
func GetUpgradeStateLabelKey() string { return driverKey(DriverName, "-state") }

// GetUpgradeSkipNodeLabelKey is the node label that, if "true", keeps the node as it is.
func GetUpgradeSkipNodeLabelKey() string { return driverKey(DriverName, ".skip") }

// GetUpgradeSkipDrainDriverPodSelector selects the pods that a drain may touch: all but those labelled to be skipped.
func GetUpgradeSkipDrainDriverPodSelector(driverName string) string {
	return driverKey(driverName, "-drain.skip") + "!=true"
}

// GetUpgradeDriverWaitForSafeLoadAnnotationKey is the node annotation of a driver that waits to be let in.
func GetUpgradeDriverWaitForSafeLoadAnnotationKey() string {
	return driverKey(DriverName, ".driver-wait-for-safe-load")
}

// GetUpgradeInitialStateAnnotationKey is the node annotation of a node that was cordoned before its upgrade.
func GetUpgradeInitialStateAnnotationKey() string {
	return driverKey(DriverName, ".node-initial-state.unschedulable")
}

// GetUpgradeRequestedAnnotationKey is the node annotation that asks for an upgrade although the pod is current.
func GetUpgradeRequestedAnnotationKey() string { return driverKey(DriverName, "-requested") }

// GetUpgradeRequestorModeAnnotationKey is the node annotation of a node that a maintenance operator evacuates.
func GetUpgradeRequestorModeAnnotationKey() string { return driverKey(DriverName, "-requestor-mode") }

// GetWaitForPodCompletionStartTimeAnnotationKey is the node annotation with the second at which waiting for jobs began.
func GetWaitForPodCompletionStartTimeAnnotationKey() string {
	return driverKey(DriverName, "-wait-for-pod-completion-start-time")
}

// GetValidationStartTimeAnnotationKey is the node annotation with the second at which waiting for validation began.
func GetValidationStartTimeAnnotationKey() string {
	return driverKey(DriverName, "-validation-start-time")
}

// GetEventReason is the reason of every Event about an upgrade.
func GetEventReason() string { return strings.ToUpper(DriverName) + "DriverUpgrade" }

// IsNodeInRequestorMode tells whether a maintenance operator evacuates the node.
func IsNodeInRequestorMode(node *corev1.Node) bool {
	_, found := node.Annotations[GetUpgradeRequestorModeAnnotationKey()]
	return found
}
