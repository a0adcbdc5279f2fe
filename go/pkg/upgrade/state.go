package upgrade

import (
	"cmp"

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

// reading is what the nodes of one BuildState, or of one PartOf, have in common, whatever states the operator puts them into.
type reading struct {
	host    *host.Host
	owner   string   // owner of the part; empty: PartOf did not make it
	podless []string // the driver's nodes that are in no state of this BuildState
}

// PartOf returns the part of a state of BuildState that belongs to an owner, such as an NVIDIADriver, for an ApplyState or ApplyPolicy with
// the owner's policy. The part has a rollout of its own. The ledger has its grants and its record under the owner's name,
// as with the native operators. owner is a DNS subdomain, as names of custom resources are. has returns whether a node belongs to the
// owner, by its name and its labels. A node belongs to one owner.
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
	if len(readings) == 0 { // every node of the part is without a driver pod at the moment
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

// NewClusterUpgradeState has no nodes.
func NewClusterUpgradeState() ClusterUpgradeState {
	return ClusterUpgradeState{NodeStates: map[string][]*NodeUpgradeState{}}
}
