package upgrade

import corev1 "k8s.io/api/core/v1"

// Counters counts the nodes of a ClusterUpgradeState, for example for the metrics of an operator. The numbers match the
// Go library's numbers, and exclude nodes that a maintenance operator evacuates.
type Counters struct{}

// idleStates are the states of nodes that need no upgrade, or wait for their turn.
var idleStates = []string{UpgradeStateUnknown, UpgradeStateDone, UpgradeStateUpgradeRequired}

var startedStates = []string{
	UpgradeStateCordonRequired, UpgradeStateWaitForJobsRequired, UpgradeStatePodDeletionRequired,
	UpgradeStateDrainRequired, UpgradeStatePodRestartRequired, UpgradeStateValidationRequired,
	UpgradeStateUncordonRequired, UpgradeStateFailed,
}

func count(state *ClusterUpgradeState, names []string) int {
	total := 0
	for _, name := range names {
		total += len(state.NodeStates[name])
	}
	return total
}

// GetTotalManagedNodes counts the nodes that have a driver, except nodes that a maintenance operator evacuates.
func (Counters) GetTotalManagedNodes(state *ClusterUpgradeState) int {
	return count(state, idleStates) + count(state, startedStates)
}

// GetUpgradesInProgress counts the nodes whose upgrade has started, including failed nodes.
func (Counters) GetUpgradesInProgress(state *ClusterUpgradeState) int {
	return count(state, startedStates)
}

// GetUpgradesDone counts the nodes in the state upgrade-done.
func (Counters) GetUpgradesDone(state *ClusterUpgradeState) int {
	return len(state.NodeStates[UpgradeStateDone])
}

// GetUpgradesFailed counts the nodes whose upgrade has failed.
func (Counters) GetUpgradesFailed(state *ClusterUpgradeState) int {
	return len(state.NodeStates[UpgradeStateFailed])
}

// GetUpgradesPending counts the nodes that wait for their turn, in the state upgrade-required.
func (Counters) GetUpgradesPending(state *ClusterUpgradeState) int {
	return len(state.NodeStates[UpgradeStateUpgradeRequired])
}

// GetUpgradesAvailable returns how many nodes the Go library would start now. As in that library, the number is
// negative if more upgrades are in progress than maxParallelUpgrades allows. The engine itself counts differently
// (docs/go.md).
func (c Counters) GetUpgradesAvailable(state *ClusterUpgradeState, maxParallelUpgrades, maxUnavailable int) int {
	available := c.GetUpgradesPending(state)
	if maxParallelUpgrades != 0 {
		available = maxParallelUpgrades - c.GetUpgradesInProgress(state)
	}
	// A node that is about to be cordoned counts as cordoned.
	unavailable := countUnavailable(state) + len(state.NodeStates[UpgradeStateCordonRequired])
	if unavailable >= maxUnavailable {
		return 0
	}
	if maxUnavailable >= c.GetTotalManagedNodes(state) {
		return min(available, maxUnavailable)
	}
	return min(available, maxUnavailable-unavailable)
}

func countUnavailable(state *ClusterUpgradeState) int {
	unavailable := 0
	for _, nodes := range state.NodeStates {
		for _, node := range nodes {
			if IsNodeUnschedulable(node.Node) || !isReady(node.Node) {
				unavailable++
			}
		}
	}
	return unavailable
}

// isReady reports whether the node is ready. A node without a Ready condition counts as ready.
func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return false
		}
	}
	return true
}
