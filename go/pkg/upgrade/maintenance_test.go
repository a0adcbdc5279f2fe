package upgrade

import (
	"slices"
	"strings"
	"testing"
)

// requesting returns a world with a Manager in requestor mode, and one node that waits for its maintenance. The
// function alter changes the world before the policy is applied.
func requesting(t *testing.T, alter func(*world)) *world {
	t.Helper()
	w := newWorld(t, 1)
	w.manage(setup{state: StateOptions{Requestor: RequestorOptions{UseMaintenanceOperator: true, MaintenanceOPRequestorID: "gpu.example.com",
		MaintenanceOPRequestorNS: "maintenance", NodeMaintenanceNamePrefix: "gpu"}}})
	alter(w)
	w.apply(t.Context(), policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	w.awaitState("n0", UpgradeStateNodeMaintenanceRequired)
	return w
}

func TestAMaintenanceOperatorEvacuatesTheNodeIfRequested(t *testing.T) {
	w := requesting(t, func(*world) {})
	w.eventually("a NodeMaintenance", func() bool { return strings.HasPrefix(w.cluster.Maintenance("n0"), "gpu") })
	if w.cluster.Revision("n0") != "hash-1" {
		t.Error("the driver was replaced before the node was evacuated")
	}
	w.awaitGate("n0", "Maintenance")
	w.cluster.Maintain("n0")
	w.eventually("the new driver, and no NodeMaintenance", func() bool {
		return w.cluster.State("n0") == UpgradeStateDone && w.cluster.Revision("n0") == "hash-2" && w.cluster.Maintenance("n0") == ""
	})
}

func TestTheMaintenanceOfAnotherRequestorIsJoinedAndLeft(t *testing.T) {
	w := requesting(t, func(w *world) { w.cluster.AddMaintenance("maintenance", "gpu-n0", "n0", "net.example.com") })
	both, theirs := []string{"net.example.com", "gpu.example.com"}, []string{"net.example.com"}
	requestors := func() []string { return w.cluster.Requestors("maintenance", "gpu-n0") }
	w.eventually("both requestors", func() bool { return slices.Equal(requestors(), both) })
	w.cluster.Maintain("n0")
	w.eventually("the new driver, and the maintenance of the other requestor", func() bool {
		return w.cluster.State("n0") == UpgradeStateDone && w.cluster.Revision("n0") == "hash-2" && slices.Equal(requestors(), theirs)
	})
	if !w.cluster.Cordoned("n0") {
		t.Error("the node was given back in the middle of the other's maintenance")
	}
}

func TestAMaintenanceOperatorIsToldOfAFailedUpgrade(t *testing.T) {
	w := requesting(t, func(w *world) { w.cluster.StartUnready() })
	w.eventually("a NodeMaintenance", func() bool { return w.cluster.Maintenance("n0") != "" })
	w.cluster.Maintain("n0")
	w.eventually("the new driver pod", func() bool { return w.cluster.Revision("n0") == "hash-2" })
	w.cluster.FailDriver("n0")
	w.awaitState("n0", UpgradeStateFailed)
	w.eventually("the failure", func() bool { return strings.HasPrefix(w.cluster.Failure("n0"), "gpu.example.com:") })
}

// The library identifies a NodeMaintenance only by its name.
func TestAStateContainsOnlyItsOwnNodeMaintenance(t *testing.T) {
	w := requesting(t, func(w *world) {
		w.cluster.AddMaintenance("maintenance", "another-n0", "n0", "net.example.com")
		w.cluster.AddMaintenance("maintenance", "gpu-of-somebody", "n0", "net.example.com")
	})
	w.eventually("the NodeMaintenance of this operator", func() bool {
		for _, nodes := range w.build(t.Context()).NodeStates {
			for _, node := range nodes {
				if node.NodeMaintenance != nil && node.NodeMaintenance.GetName() != "gpu-n0" {
					t.Fatalf("the state has %s", node.NodeMaintenance.GetName())
				}
				return node.NodeMaintenance != nil
			}
		}
		return false
	})
}
