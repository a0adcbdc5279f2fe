package upgrade

// The values of the state label, in the order in which a node goes through them.
const (
	// UpgradeStateUnknown: the node has no state yet.
	UpgradeStateUnknown = ""
	// UpgradeStateUpgradeRequired: the node waits for its turn.
	UpgradeStateUpgradeRequired = "upgrade-required"
	// UpgradeStateCordonRequired: it is the node's turn.
	UpgradeStateCordonRequired = "cordon-required"
	// UpgradeStateWaitForJobsRequired: cordoned; jobs may end.
	UpgradeStateWaitForJobsRequired = "wait-for-jobs-required"
	// UpgradeStatePodDeletionRequired: the pods that use the driver are to go.
	UpgradeStatePodDeletionRequired = "pod-deletion-required"
	// UpgradeStateDrainRequired: every pod that may be drained is to go.
	UpgradeStateDrainRequired = "drain-required"
	// UpgradeStateNodeMaintenanceRequired: a maintenance operator evacuates the node.
	UpgradeStateNodeMaintenanceRequired = "node-maintenance-required"
	// UpgradeStatePostMaintenanceRequired: the maintenance operator has done its part.
	UpgradeStatePostMaintenanceRequired = "post-maintenance-required"
	// UpgradeStatePodRestartRequired: the driver pod is to be replaced, or let in.
	UpgradeStatePodRestartRequired = "pod-restart-required"
	// UpgradeStateValidationRequired: the new driver is being validated.
	UpgradeStateValidationRequired = "validation-required"
	// UpgradeStateUncordonRequired: the node is to be given back.
	UpgradeStateUncordonRequired = "uncordon-required"
	// UpgradeStateDone: the driver is current.
	UpgradeStateDone = "upgrade-done"
	// UpgradeStateFailed: a person, or a new revision, has to help.
	UpgradeStateFailed = "upgrade-failed"
)
