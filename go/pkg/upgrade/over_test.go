package upgrade

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"driverupgrade.example/go/internal/host"
)

func TestAnUpgradeIsOverWhenNothingIsLeftToDo(t *testing.T) {
	SetDriverName("gpu")
	driver := func(generation, observed int64, updated int32) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{UID: "driver", Generation: generation},
			Status: appsv1.DaemonSetStatus{ObservedGeneration: observed, UpdatedNumberScheduled: updated}}
	}
	type nodes = map[string]int
	for _, one := range []struct {
		name    string
		set     *appsv1.DaemonSet
		nodes   nodes
		skipped nodes
		over    bool
	}{
		{"no nodes", driver(2, 2, 0), nil, nil, false},
		{"all done", driver(2, 2, 2), nodes{UpgradeStateDone: 2}, nil, true},
		{"done with the previous template", driver(2, 2, 1), nodes{UpgradeStateDone: 2}, nil, false},
		{"a template that the DaemonSet has not seen", driver(3, 2, 2), nodes{UpgradeStateDone: 2}, nil, false},
		{"a node has failed with the old pod", driver(2, 2, 1), nodes{UpgradeStateDone: 1, UpgradeStateFailed: 1}, nil, true},
		{"a node is in progress", driver(2, 2, 1), nodes{UpgradeStateDone: 1, UpgradeStateDrainRequired: 1}, nil, false},
		{"a node waits", driver(2, 2, 1), nodes{UpgradeStateDone: 1, UpgradeStateUpgradeRequired: 1}, nil, false},
		{"a waiting node has the skip label", driver(2, 2, 1), nodes{UpgradeStateDone: 1}, nodes{UpgradeStateUpgradeRequired: 1}, true},
		{"a node in progress has the skip label", driver(2, 2, 1), nodes{UpgradeStateDone: 1}, nodes{UpgradeStateDrainRequired: 1}, false},
		{"the DaemonSet is unknown", nil, nodes{UpgradeStateDone: 1}, nil, true},
	} {
		t.Run(one.name, func(t *testing.T) {
			state := NewClusterUpgradeState()
			add := func(nodes nodes, labels map[string]string) {
				for name, count := range nodes {
					for range count {
						state.NodeStates[name] = append(state.NodeStates[name],
							&NodeUpgradeState{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, DriverDaemonSet: one.set})
					}
				}
			}
			add(one.nodes, nil)
			add(one.skipped, map[string]string{GetUpgradeSkipNodeLabelKey(): "true"})
			if over := IsOver(&state); over != one.over {
				t.Errorf("it is over: %t", over)
			}
		})
	}
}

func TestAnUpgradeIsNotOverWhileADriverPodIsBeingReplaced(t *testing.T) {
	SetDriverName("gpu")
	for _, one := range []struct {
		state, skip string
		over        bool
	}{
		{UpgradeStatePodRestartRequired, "", false},
		{UpgradeStateUpgradeRequired, "", false},
		{UpgradeStateUpgradeRequired, "true", true},
		{UpgradeStateDone, "", true},
		{UpgradeStateFailed, "", true},
		{UpgradeStateUnknown, "", true},
	} {
		state := NewClusterUpgradeState()
		state.NodeStates[UpgradeStateDone] = []*NodeUpgradeState{{Node: &corev1.Node{}}}
		labels := map[string]string{GetUpgradeStateLabelKey(): one.state, GetUpgradeSkipNodeLabelKey(): one.skip}
		state.podless = []host.Podless{{Name: "n0", Labels: labels}}
		if over := IsOver(&state); over != one.over {
			t.Errorf("with a node in %q without a driver pod it is over: %t", one.state, over)
		}
	}
}

func TestAnUpgradeIsNotOverWhileADriverPodIsNotReady(t *testing.T) {
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}}}
		state := NewClusterUpgradeState()
		state.NodeStates[UpgradeStateDone] = []*NodeUpgradeState{{Node: &corev1.Node{}, DriverPod: pod}}
		if over := IsOver(&state); over != (status == corev1.ConditionTrue) {
			t.Errorf("with Ready=%s it is over: %t", status, over)
		}
	}
}

func TestBuildStateKnowsTheNodesWhoseDriverPodIsMissing(t *testing.T) {
	w := newWorld(t, 2)
	w.cluster.LoseDriverPod("n0")
	w.eventually("a node without its driver pod", func() bool {
		w.cluster.SetLabel("n0", GetUpgradeStateLabelKey(), UpgradeStatePodRestartRequired)
		podless := w.build(t.Context()).podless
		return len(podless) == 1 && podless[0].Labels[GetUpgradeStateLabelKey()] == UpgradeStatePodRestartRequired
	})
}
