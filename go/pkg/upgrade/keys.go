package upgrade

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// DriverName is the driver that the keys below are about. The old interface has it as a variable of the package; what
// this module makes beyond that interface takes the name as an argument.
var DriverName string

// SetDriverName sets DriverName; to be called before anything else, from one goroutine.
func SetDriverName(driver string) { DriverName = driver }

const (
	defaultDomain = "nvidia.com"
	keyDomain     = defaultDomain + "/"
)

// The keys, with a place for the driver's name.
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

// GetUpgradeStateLabelKey is the node label with the state of the node's upgrade.
func GetUpgradeStateLabelKey() string { return driverKey(UpgradeStateLabelKeyFmt) }

// GetUpgradeSkipNodeLabelKey is the node label that, if "true", keeps the node as it is.
func GetUpgradeSkipNodeLabelKey() string { return driverKey(UpgradeSkipNodeLabelKeyFmt) }

// GetUpgradeSkipDrainDriverPodSelector selects the pods that a drain may touch: all but those labelled to be skipped.
func GetUpgradeSkipDrainDriverPodSelector(driverName string) string {
	return Keys{defaultDomain, driverName}.SkipDrainPodSelector()
}

// GetUpgradeDriverWaitForSafeLoadAnnotationKey is the node annotation of a driver that waits to be let in.
func GetUpgradeDriverWaitForSafeLoadAnnotationKey() string {
	return driverKey(UpgradeWaitForSafeDriverLoadAnnotationKeyFmt)
}

// GetUpgradeInitialStateAnnotationKey is the node annotation of a node that was cordoned before its upgrade.
func GetUpgradeInitialStateAnnotationKey() string {
	return driverKey(UpgradeInitialStateAnnotationKeyFmt)
}

// GetUpgradeRequestedAnnotationKey is the node annotation that asks for an upgrade although the pod is current.
func GetUpgradeRequestedAnnotationKey() string { return driverKey(UpgradeRequestedAnnotationKeyFmt) }

// GetUpgradeRequestorModeAnnotationKey is the node annotation of a node that a maintenance operator evacuates.
func GetUpgradeRequestorModeAnnotationKey() string {
	return driverKey(UpgradeRequestorModeAnnotationKeyFmt)
}

// GetWaitForPodCompletionStartTimeAnnotationKey is the node annotation with the second at which waiting for jobs began.
func GetWaitForPodCompletionStartTimeAnnotationKey() string {
	return driverKey(UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt)
}

// GetValidationStartTimeAnnotationKey is the node annotation with the second at which waiting for validation began.
func GetValidationStartTimeAnnotationKey() string {
	return driverKey(UpgradeValidationStartTimeAnnotationKeyFmt)
}

// GetEventReason is the reason of every Event about an upgrade.
func GetEventReason() string { return strings.ToUpper(DriverName) + "DriverUpgrade" }

// IsNodeInRequestorMode tells whether a maintenance operator evacuates the node.
func IsNodeInRequestorMode(node *corev1.Node) bool {
	_, found := node.Annotations[GetUpgradeRequestorModeAnnotationKey()]
	return found
}

// IsNodeUnschedulable tells whether the node is cordoned.
func IsNodeUnschedulable(node *corev1.Node) bool { return node.Spec.Unschedulable }

// IsOrphanedPod tells whether the pod has no owner.
func IsOrphanedPod(pod *corev1.Pod) bool { return len(pod.OwnerReferences) == 0 }
