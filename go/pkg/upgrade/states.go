package upgrade

// The values of the state label, in the order in which a node passes through them.
const (
	// UpgradeStateUnknown: the node has no state yet.
	UpgradeStateUnknown = ""
	// UpgradeStateUpgradeRequired: the node waits for its turn.
	UpgradeStateUpgradeRequired = "upgrade-required"
	// UpgradeStateCordonRequired: the node's turn has come.
	UpgradeStateCordonRequired = "cordon-required"
	// UpgradeStateWaitForJobsRequired: the node is cordoned, and waits for jobs to finish.
	UpgradeStateWaitForJobsRequired = "wait-for-jobs-required"
	// UpgradeStatePodDeletionRequired: the pods that use the driver must leave the node.
	UpgradeStatePodDeletionRequired = "pod-deletion-required"
	// UpgradeStateDrainRequired: every pod that may be drained must leave the node.
	UpgradeStateDrainRequired = "drain-required"
	// UpgradeStateNodeMaintenanceRequired: a maintenance operator evacuates the node.
	UpgradeStateNodeMaintenanceRequired = "node-maintenance-required"
	// UpgradeStatePostMaintenanceRequired: the maintenance operator has evacuated the node.
	UpgradeStatePostMaintenanceRequired = "post-maintenance-required"
	// UpgradeStatePodRestartRequired: the driver pod must be replaced, or allowed to load.
	UpgradeStatePodRestartRequired = "pod-restart-required"
	// UpgradeStateValidationRequired: the new driver is being validated.
	UpgradeStateValidationRequired = "validation-required"
	// UpgradeStateUncordonRequired: the node must be returned to service.
	UpgradeStateUncordonRequired = "uncordon-required"
	// UpgradeStateDone: the driver is current.
	UpgradeStateDone = "upgrade-done"
	// UpgradeStateFailed: the upgrade has failed, and needs an administrator or a new revision.
	UpgradeStateFailed = "upgrade-failed"
)
