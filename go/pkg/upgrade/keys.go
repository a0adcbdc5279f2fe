package upgrade

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// DriverName is the name of the driver in the keys below. It is a package variable because the old interface has such a
// variable; functions that this module adds take the name as an argument.
var DriverName string

// SetDriverName sets DriverName. It must be called before all other functions, and from only one goroutine.
func SetDriverName(driver string) { DriverName = driver }

const (
	defaultDomain = "nvidia.com"
	keyDomain     = defaultDomain + "/"
)

// Formats of the keys, with a placeholder for the driver's name.
const (
	// UpgradeStateLabelKeyFmt is the format of the key that GetUpgradeStateLabelKey returns.
	UpgradeStateLabelKeyFmt = keyDomain + "%s-driver-upgrade-state"
	// UpgradeSkipNodeLabelKeyFmt is the format of the key that GetUpgradeSkipNodeLabelKey returns.
	UpgradeSkipNodeLabelKeyFmt = keyDomain + "%s-driver-upgrade.skip"
	// UpgradeSkipDrainDriverSelectorFmt is the format of the pod label in GetUpgradeSkipDrainDriverPodSelector.
	UpgradeSkipDrainDriverSelectorFmt = keyDomain + "%s-driver-upgrade-drain.skip"
	// UpgradeWaitForSafeDriverLoadAnnotationKeyFmt is the format of the key that GetUpgradeDriverWaitForSafeLoadAnnotationKey returns.
	UpgradeWaitForSafeDriverLoadAnnotationKeyFmt = keyDomain + "%s-driver-upgrade.driver-wait-for-safe-load"
	// UpgradeInitialStateAnnotationKeyFmt is the format of the key that GetUpgradeInitialStateAnnotationKey returns.
	UpgradeInitialStateAnnotationKeyFmt = keyDomain + "%s-driver-upgrade.node-initial-state.unschedulable"
	// UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt is the format of the key that GetWaitForPodCompletionStartTimeAnnotationKey returns.
	UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt = keyDomain + "%s-driver-upgrade-wait-for-pod-completion-start-time"
	// UpgradeValidationStartTimeAnnotationKeyFmt is the format of the key that GetValidationStartTimeAnnotationKey returns.
	UpgradeValidationStartTimeAnnotationKeyFmt = keyDomain + "%s-driver-upgrade-validation-start-time"
	// UpgradeRequestedAnnotationKeyFmt is the format of the key that GetUpgradeRequestedAnnotationKey returns.
	UpgradeRequestedAnnotationKeyFmt = keyDomain + "%s-driver-upgrade-requested"
	// UpgradeRequestorModeAnnotationKeyFmt is the format of the key that GetUpgradeRequestorModeAnnotationKey returns.
	UpgradeRequestorModeAnnotationKeyFmt = keyDomain + "%s-driver-upgrade-requestor-mode"
	// PodControllerRevisionHashLabelKey is the label of a driver pod with the hash of its template.
	PodControllerRevisionHashLabelKey = "controller-revision-hash"
)

func driverKey(format string) string { return Keys{defaultDomain, DriverName}.of(format) }

// Keys provides the keys of a driver in any domain. The functions of the old interface return the keys of DriverName in
// the domain nvidia.com.
type Keys struct{ Domain, Driver string }

func (k Keys) of(format string) string {
	return k.Domain + "/" + fmt.Sprintf(strings.TrimPrefix(format, keyDomain), k.Driver)
}

// StateLabel is the counterpart of GetUpgradeStateLabelKey for this driver.
func (k Keys) StateLabel() string { return k.of(UpgradeStateLabelKeyFmt) }

// SkipNodeLabel is the counterpart of GetUpgradeSkipNodeLabelKey for this driver.
func (k Keys) SkipNodeLabel() string { return k.of(UpgradeSkipNodeLabelKeyFmt) }

// SkipDrainPodSelector is the counterpart of GetUpgradeSkipDrainDriverPodSelector for this driver. A Manager adds it to
// every drain, unless WithSkippedPodsEvicted is set.
func (k Keys) SkipDrainPodSelector() string {
	return k.of(UpgradeSkipDrainDriverSelectorFmt) + "!=true"
}

// WaitForSafeLoadAnnotation is the counterpart of GetUpgradeDriverWaitForSafeLoadAnnotationKey for this driver.
func (k Keys) WaitForSafeLoadAnnotation() string {
	return k.of(UpgradeWaitForSafeDriverLoadAnnotationKeyFmt)
}

// InitialStateAnnotation is the counterpart of GetUpgradeInitialStateAnnotationKey for this driver.
func (k Keys) InitialStateAnnotation() string { return k.of(UpgradeInitialStateAnnotationKeyFmt) }

// RequestedAnnotation is the counterpart of GetUpgradeRequestedAnnotationKey for this driver.
func (k Keys) RequestedAnnotation() string { return k.of(UpgradeRequestedAnnotationKeyFmt) }

// RequestorModeAnnotation is the counterpart of GetUpgradeRequestorModeAnnotationKey for this driver.
func (k Keys) RequestorModeAnnotation() string { return k.of(UpgradeRequestorModeAnnotationKeyFmt) }

// GetUpgradeStateLabelKey returns the key of the node label with the state of the node's upgrade.
func GetUpgradeStateLabelKey() string { return driverKey(UpgradeStateLabelKeyFmt) }

// GetUpgradeSkipNodeLabelKey returns the key of the node label that excludes the node from upgrades if its value is
// "true".
func GetUpgradeSkipNodeLabelKey() string { return driverKey(UpgradeSkipNodeLabelKeyFmt) }

// GetUpgradeSkipDrainDriverPodSelector returns a selector for the pods that a drain may evict: all pods without the
// skip label.
func GetUpgradeSkipDrainDriverPodSelector(driverName string) string {
	return Keys{defaultDomain, driverName}.SkipDrainPodSelector()
}

// GetUpgradeDriverWaitForSafeLoadAnnotationKey returns the key of the node annotation that is set while the driver
// waits for permission to load.
func GetUpgradeDriverWaitForSafeLoadAnnotationKey() string {
	return driverKey(UpgradeWaitForSafeDriverLoadAnnotationKeyFmt)
}

// GetUpgradeInitialStateAnnotationKey returns the key of the node annotation that is set if the node was cordoned
// before its upgrade.
func GetUpgradeInitialStateAnnotationKey() string {
	return driverKey(UpgradeInitialStateAnnotationKeyFmt)
}

// GetUpgradeRequestedAnnotationKey returns the key of the node annotation that requests an upgrade even if the driver
// pod is current.
func GetUpgradeRequestedAnnotationKey() string { return driverKey(UpgradeRequestedAnnotationKeyFmt) }

// GetUpgradeRequestorModeAnnotationKey returns the key of the node annotation that is set while a maintenance operator
// evacuates the node.
func GetUpgradeRequestorModeAnnotationKey() string {
	return driverKey(UpgradeRequestorModeAnnotationKeyFmt)
}

// GetWaitForPodCompletionStartTimeAnnotationKey returns the key of the node annotation with the time at which the wait
// for jobs started, in seconds since 1970.
func GetWaitForPodCompletionStartTimeAnnotationKey() string {
	return driverKey(UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt)
}

// GetValidationStartTimeAnnotationKey returns the key of the node annotation with the time at which the wait for
// validation started, in seconds since 1970.
func GetValidationStartTimeAnnotationKey() string {
	return driverKey(UpgradeValidationStartTimeAnnotationKeyFmt)
}

// GetEventReason returns the reason of every Event about an upgrade.
func GetEventReason() string { return strings.ToUpper(DriverName) + "DriverUpgrade" }

// IsNodeInRequestorMode reports whether a maintenance operator is responsible for evacuating the node.
func IsNodeInRequestorMode(node *corev1.Node) bool {
	_, found := node.Annotations[GetUpgradeRequestorModeAnnotationKey()]
	return found
}

// IsNodeUnschedulable reports whether the node is cordoned.
func IsNodeUnschedulable(node *corev1.Node) bool { return node.Spec.Unschedulable }

// IsOrphanedPod reports whether the pod has no owner.
func IsOrphanedPod(pod *corev1.Pod) bool { return len(pod.OwnerReferences) == 0 }
