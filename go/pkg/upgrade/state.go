package upgrade

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"driverupgrade.example/go/internal/host"
)

// NodeUpgradeState is a node together with the objects that its upgrade involves. DriverDaemonSet is nil if the pod no
// longer has an owner; NodeMaintenance is nil except in requestor mode.
type NodeUpgradeState struct {
	Node            *corev1.Node
	DriverPod       *corev1.Pod
	DriverDaemonSet *appsv1.DaemonSet
	NodeMaintenance client.Object

	read *reading // nil if BuildState did not create it
}

// IsOrphanedPod reports whether the driver pod has no DaemonSet.
func (n *NodeUpgradeState) IsOrphanedPod() bool { return n.DriverDaemonSet == nil }

// ClusterUpgradeState groups the nodes of a driver by the value of their state label.
type ClusterUpgradeState struct {
	NodeStates map[string][]*NodeUpgradeState

	podless []host.Podless // set only by BuildState and PartOf
	read    *reading       // set only if no node in NodeStates has a reading
}

// reading is the data that all nodes of one BuildState or PartOf call share. Nodes keep it even if the operator moves
// them to another ClusterUpgradeState.
type reading struct {
	host    *host.Host
	owner   string   // owner of the part; empty if PartOf did not create it
	podless []string // the driver's nodes that this BuildState left out, because they have no driver pod
}

// PartOf returns the part of a state that belongs to an owner, such as an NVIDIADriver. The operator passes the part to
// ApplyState or ApplyPolicy with the owner's policy. The state must come from BuildState. The part has its own rollout.
// The ledger stores the part's grants and record under the owner's name, as it does for native operators. The owner
// must be a DNS subdomain, like the name of a custom resource. The function `has` must report whether a node with this
// name and these labels belongs to the owner. No node may belong to more than one owner.
func PartOf(state *ClusterUpgradeState, owner string, has func(node string, labels map[string]string) bool) *ClusterUpgradeState {
	part, readings := NewClusterUpgradeState(), map[*reading]*reading{}
	for _, node := range state.podless {
		if has(node.Name, node.Labels) {
			part.podless = append(part.podless, node)
		}
	}
	readingOf := func(from *reading) *reading {
		if from == nil {
			return nil
		}
		if readings[from] == nil {
			readings[from] = &reading{host: from.host, owner: owner, podless: namesOf(part.podless)}
		}
		return readings[from]
	}
	for name, nodes := range state.NodeStates {
		for _, node := range nodes {
			if node == nil || node.Node == nil || !has(node.Node.Name, node.Node.Labels) {
				continue
			}
			mine := *node
			mine.read = readingOf(node.read)
			part.NodeStates[name] = append(part.NodeStates[name], &mine)
		}
	}
	if len(readings) == 0 { // no node of the part has a driver pod at the moment
		part.read = readingOf(cmp.Or(state.read, anyReading(state)))
	}
	return &part
}

func namesOf(nodes []host.Podless) (names []string) {
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}

func anyReading(state *ClusterUpgradeState) *reading {
	for _, nodes := range state.NodeStates {
		for _, node := range nodes {
			if node != nil && node.read != nil {
				return node.read
			}
		}
	}
	return nil
}

// NewClusterUpgradeState returns a state without nodes.
func NewClusterUpgradeState() ClusterUpgradeState {
	return ClusterUpgradeState{NodeStates: map[string][]*NodeUpgradeState{}}
}
