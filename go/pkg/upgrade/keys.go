package upgrade

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// DriverName is the driver of the keys below. In the old interface it is a variable of the package; functions that this module adds take the
// name as an argument.
var DriverName string

// SetDriverName sets DriverName. It must be called before anything else, from one goroutine.
func SetDriverName(driver string) { DriverName = driver }

const (
	defaultDomain = "nvidia.com"
	keyDomain     = defaultDomain + "/"
)

// The keys, with a placeholder for the driver's name.
const (
	// UpgradeStateLabelKeyFmt see GetUpgradeStateLabelKey.
	UpgradeStateLabelKeyFmt = keyDomain + "%s-driver-upgrade-state"
	// UpgradeSkipNodeLabelKeyFmt see GetUpgradeSkipNodeLabelKey.
	UpgradeSkipNodeLabelKeyFmt = keyDomain + "%s-driver-upgrade.skip"
	// UpgradeSkipDrainDriverSelectorFmt is the pod label of GetUpgradeSkipDrainDriverPodSelector.
	UpgradeSkipDrainDriverSelectorFmt = keyDomain + "%s-driver-upgrade-drain.skip"
	// UpgradeWaitForSafeDriverLoadAnnotationKeyFmt see GetUpgradeDriverWaitForSafeLoadAnnotationKey.
	UpgradeWaitForSafeDriverLoadAnnotationKeyFmt = keyDomain + "%s-driver-upgrade.driver-wait-for-safe-load"
	// UpgradeInitialStateAnnotationKeyFmt see GetUpgradeInitialStateAnnotationKey.
	UpgradeInitialStateAnnotationKeyFmt = keyDomain + "%s-driver-upgrade.node-initial-state.unschedulable"
	// UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt see GetWaitForPodCompletionStartTimeAnnotationKey.
	UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt = keyDomain + "%s-driver-upgrade-wait-for-pod-completion-start-time"
	// UpgradeValidationStartTimeAnnotationKeyFmt see GetValidationStartTimeAnnotationKey.
	UpgradeValidationStartTimeAnnotationKeyFmt = keyDomain + "%s-driver-upgrade-validation-start-time"
	// UpgradeRequestedAnnotationKeyFmt see GetUpgradeRequestedAnnotationKey.
	UpgradeRequestedAnnotationKeyFmt = keyDomain + "%s-driver-upgrade-requested"
	// UpgradeRequestorModeAnnotationKeyFmt see GetUpgradeRequestorModeAnnotationKey.
	UpgradeRequestorModeAnnotationKeyFmt = keyDomain + "%s-driver-upgrade-requestor-mode"
	// PodControllerRevisionHashLabelKey is the label of a driver pod with the hash of its template.
	PodControllerRevisionHashLabelKey = "controller-revision-hash"
)

func driverKey(format string) string { return Keys{defaultDomain, DriverName}.of(format) }

// Keys returns the keys of a driver in any domain. The functions of the old interface return the keys of nvidia.com and DriverName.
type Keys struct{ Domain, Driver string }

func (k Keys) of(format string) string {
	return k.Domain + "/" + fmt.Sprintf(strings.TrimPrefix(format, keyDomain), k.Driver)
}

// StateLabel see GetUpgradeStateLabelKey.
func (k Keys) StateLabel() string { return k.of(UpgradeStateLabelKeyFmt) }

// SkipNodeLabel see GetUpgradeSkipNodeLabelKey.
func (k Keys) SkipNodeLabel() string { return k.of(UpgradeSkipNodeLabelKeyFmt) }

// SkipDrainPodSelector see GetUpgradeSkipDrainDriverPodSelector.
func (k Keys) SkipDrainPodSelector() string {
	return k.of(UpgradeSkipDrainDriverSelectorFmt) + "!=true"
}

// WaitForSafeLoadAnnotation see GetUpgradeDriverWaitForSafeLoadAnnotationKey.
func (k Keys) WaitForSafeLoadAnnotation() string {
	return k.of(UpgradeWaitForSafeDriverLoadAnnotationKeyFmt)
}

// InitialStateAnnotation see GetUpgradeInitialStateAnnotationKey.
func (k Keys) InitialStateAnnotation() string { return k.of(UpgradeInitialStateAnnotationKeyFmt) }

// RequestedAnnotation see GetUpgradeRequestedAnnotationKey.
func (k Keys) RequestedAnnotation() string { return k.of(UpgradeRequestedAnnotationKeyFmt) }

// RequestorModeAnnotation see GetUpgradeRequestorModeAnnotationKey.
func (k Keys) RequestorModeAnnotation() string { return k.of(UpgradeRequestorModeAnnotationKeyFmt) }

// GetUpgradeStateLabelKey returns the key of the node label with the state of the node's upgrade.
func GetUpgradeStateLabelKey() string { return driverKey(UpgradeStateLabelKeyFmt) }

// GetUpgradeSkipNodeLabelKey returns the key of the node label that keeps the node unchanged if it is "true".
func GetUpgradeSkipNodeLabelKey() string { return driverKey(UpgradeSkipNodeLabelKeyFmt) }

// GetUpgradeSkipDrainDriverPodSelector selects the pods that a drain may evict: all pods without the label to skip them.
func GetUpgradeSkipDrainDriverPodSelector(driverName string) string {
	return Keys{defaultDomain, driverName}.SkipDrainPodSelector()
}

// GetUpgradeDriverWaitForSafeLoadAnnotationKey returns the key of the node annotation of a driver that waits for permission to load.
func GetUpgradeDriverWaitForSafeLoadAnnotationKey() string {
	return driverKey(UpgradeWaitForSafeDriverLoadAnnotationKeyFmt)
}

// GetUpgradeInitialStateAnnotationKey returns the key of the annotation of a node that was cordoned before its upgrade.
func GetUpgradeInitialStateAnnotationKey() string {
	return driverKey(UpgradeInitialStateAnnotationKeyFmt)
}

// GetUpgradeRequestedAnnotationKey returns the key of the node annotation that requests an upgrade although the pod is current.
func GetUpgradeRequestedAnnotationKey() string { return driverKey(UpgradeRequestedAnnotationKeyFmt) }

// GetUpgradeRequestorModeAnnotationKey returns the key of the annotation of a node that a maintenance operator evacuates.
func GetUpgradeRequestorModeAnnotationKey() string {
	return driverKey(UpgradeRequestorModeAnnotationKeyFmt)
}

// GetWaitForPodCompletionStartTimeAnnotationKey returns the key of the node annotation with the second at which the wait for jobs started.
func GetWaitForPodCompletionStartTimeAnnotationKey() string {
	return driverKey(UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt)
}

// GetValidationStartTimeAnnotationKey returns the key of the node annotation with the second at which the wait for validation started.
func GetValidationStartTimeAnnotationKey() string {
	return driverKey(UpgradeValidationStartTimeAnnotationKeyFmt)
}

// GetEventReason returns the reason of every Event about an upgrade.
func GetEventReason() string { return strings.ToUpper(DriverName) + "DriverUpgrade" }

// IsNodeInRequestorMode reports whether a maintenance operator evacuates the node.
func IsNodeInRequestorMode(node *corev1.Node) bool {
	_, found := node.Annotations[GetUpgradeRequestorModeAnnotationKey()]
	return found
}

// IsNodeUnschedulable reports whether the node is cordoned.
func IsNodeUnschedulable(node *corev1.Node) bool { return node.Spec.Unschedulable }

// IsOrphanedPod reports whether the pod has no owner.
func IsOrphanedPod(pod *corev1.Pod) bool { return len(pod.OwnerReferences) == 0 }
