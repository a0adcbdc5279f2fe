package upgrade

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// IsOver reports whether nothing is left to do on the nodes of the state: each node has failed, is excluded by the skip
// label, or is upgrade-done with a Ready driver pod of the newest template. A state without nodes is not over, because
// nodes may still appear. Nor is a state that BuildState returned while a driver pod was being replaced, even though
// this state omits the pod's node.
func IsOver(currentState *ClusterUpgradeState) bool {
	if currentState == nil {
		return false
	}
	keys := keysOf(currentState)
	for _, node := range currentState.podless {
		labels := node.Labels
		switch state := labels[keys.StateLabel()]; {
		case state == UpgradeStateUnknown, state == UpgradeStateDone, state == UpgradeStateFailed:
		case state == UpgradeStateUpgradeRequired && labels[keys.SkipNodeLabel()] == "true":
		default:
			return false
		}
	}
	nodes, done := 0, map[types.UID]int32{} // by DaemonSet
	for state, members := range currentState.NodeStates {
		for _, node := range members {
			if node == nil || node.Node == nil {
				continue
			}
			nodes++
			skipped := node.Node.Labels[keys.SkipNodeLabel()] == "true"
			set := node.DriverDaemonSet
			if state == UpgradeStateDone && node.DriverPod != nil && !isPodReady(node.DriverPod) {
				return false
			}
			switch {
			case state == UpgradeStateDone && set != nil:
				// The status of the DaemonSet describes the previous template until the DaemonSet controller has observed the new
				// template.
				if set.Status.ObservedGeneration != set.Generation {
					return false
				}
				if done[set.UID]++; set.Status.UpdatedNumberScheduled < done[set.UID] {
					return false
				}
			case state == UpgradeStateDone, state == UpgradeStateFailed:
			case skipped && (state == UpgradeStateUnknown || state == UpgradeStateUpgradeRequired):
			default:
				return false
			}
		}
	}
	return nodes > 0
}

func isPodReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// keysOf returns the keys of the Manager that built the state.
func keysOf(state *ClusterUpgradeState) Keys {
	read := cmp.Or(state.read, anyReading(state))
	if read == nil {
		return Keys{defaultDomain, DriverName}
	}
	return Keys(read.host.Driver())
}
