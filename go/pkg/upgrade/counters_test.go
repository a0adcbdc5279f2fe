package upgrade

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func node(change func(*corev1.Node)) *NodeUpgradeState {
	made := &corev1.Node{}
	change(made)
	return &NodeUpgradeState{Node: made}
}

func healthy() *NodeUpgradeState { return node(func(*corev1.Node) {}) }

func cordoned() *NodeUpgradeState {
	return node(func(n *corev1.Node) { n.Spec.Unschedulable = true })
}

func notReady() *NodeUpgradeState {
	return node(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	})
}

func TestCountersSeparateNodesInProgressFromOthers(t *testing.T) {
	state := NewClusterUpgradeState()
	state.NodeStates[UpgradeStateDone] = []*NodeUpgradeState{healthy(), healthy()}
	state.NodeStates[UpgradeStateUpgradeRequired] = []*NodeUpgradeState{healthy()}
	state.NodeStates[UpgradeStateFailed] = []*NodeUpgradeState{cordoned()}
	state.NodeStates[UpgradeStateNodeMaintenanceRequired] = []*NodeUpgradeState{cordoned()}
	var counters Counters
	for _, c := range []struct {
		of        string
		got, want int
	}{
		{"total", counters.GetTotalManagedNodes(&state), 4},
		{"done", counters.GetUpgradesDone(&state), 2},
		{"pending", counters.GetUpgradesPending(&state), 1},
		{"in progress", counters.GetUpgradesInProgress(&state), 1},
		{"failed", counters.GetUpgradesFailed(&state), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.of, c.got, c.want)
		}
	}
}

func TestUpgradesAvailableObeyBothLimits(t *testing.T) {
	state := NewClusterUpgradeState()
	state.NodeStates[UpgradeStateUpgradeRequired] = []*NodeUpgradeState{healthy(), healthy(), healthy(), notReady()}
	state.NodeStates[UpgradeStateDrainRequired] = []*NodeUpgradeState{cordoned()}
	for _, c := range []struct{ parallel, unavailable, want int }{
		{parallel: 0, unavailable: 5, want: 4},
		{parallel: 0, unavailable: 4, want: 2},
		{parallel: 0, unavailable: 2, want: 0},
		{parallel: 2, unavailable: 5, want: 1},
		{parallel: 1, unavailable: 5, want: 0},
	} {
		if got := (Counters{}).GetUpgradesAvailable(&state, c.parallel, c.unavailable); got != c.want {
			t.Errorf("%d in parallel, %d unavailable: got %d, want %d", c.parallel, c.unavailable, got, c.want)
		}
	}
}
