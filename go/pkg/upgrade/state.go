package upgrade

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"driverupgrade.example/go/internal/host"
)

// NodeUpgradeState is a node with what its upgrade is about. DriverDaemonSet is nil if the pod has no owner any more;
// NodeMaintenance is nil but in requestor mode.
type NodeUpgradeState struct {
	Node            *corev1.Node
	DriverPod       *corev1.Pod
	DriverDaemonSet *appsv1.DaemonSet
	NodeMaintenance client.Object

	read *reading // nil if BuildState did not make it
}

// IsOrphanedPod tells whether the driver pod has no DaemonSet.
func (n *NodeUpgradeState) IsOrphanedPod() bool { return n.DriverDaemonSet == nil }

// ClusterUpgradeState has the nodes of a driver by the value of their state label.
type ClusterUpgradeState struct {
	NodeStates map[string][]*NodeUpgradeState

	podless []host.Podless // if BuildState made it
	read    *reading       // if BuildState found podless nodes and no others
}

// reading is what the nodes of one BuildState have in common, whatever states the operator puts them into.
type reading struct {
	host    *host.Host
	podless []string // the driver's nodes that are in no state of this BuildState
}

// NewClusterUpgradeState has no nodes.
func NewClusterUpgradeState() ClusterUpgradeState {
	return ClusterUpgradeState{NodeStates: map[string][]*NodeUpgradeState{}}
}
