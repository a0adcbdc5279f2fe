package upgrade

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func requestorOptions(enabled bool) StateOptions {
	return StateOptions{Requestor: RequestorOptions{UseMaintenanceOperator: enabled, MaintenanceOPRequestorID: "gpu.example.com",
		MaintenanceOPRequestorNS: "maintenance", NodeMaintenanceNamePrefix: "gpu"}}
}

// requesting returns a world with a Manager in requestor mode, and one node that waits for its maintenance. The
// function alter changes the world before the policy is applied.
func requesting(t *testing.T, alter func(*world)) *world {
	t.Helper()
	w := newWorld(t, 1)
	w.manage(setup{state: requestorOptions(true)})
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

func TestANodeFinishesInRequestorModeAfterTheModeWasSwitchedOff(t *testing.T) {
	w := requesting(t, func(*world) {})
	w.eventually("a NodeMaintenance", func() bool { return w.cluster.Maintenance("n0") != "" })
	w.cluster.AddNode("n1")
	w.nodes = append(w.nodes, "n1")
	w.manage(setup{state: requestorOptions(false)})
	w.apply(t.Context(), policyOf(1))
	w.awaitGate("n0", "Maintenance")
	w.cluster.Maintain("n0")
	w.eventually("the new driver, and no NodeMaintenance", func() bool {
		return w.cluster.State("n0") == UpgradeStateDone && w.cluster.Revision("n0") == "hash-2" && w.cluster.Maintenance("n0") == ""
	})
	w.cluster.NewDriver()
	w.eventually("an upgrade in place of both nodes", func() bool {
		if maintenance := w.cluster.Maintenance("n0") + w.cluster.Maintenance("n1"); maintenance != "" {
			t.Fatalf("%s was created", maintenance)
		}
		return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-3" && w.cluster.Revision("n1") == "hash-3"
	})
}

// withoutMaintenances returns a setup whose requests for NodeMaintenances get this status while refuses is true.
func (w *world) withoutMaintenances(status int, refuses *atomic.Bool) setup {
	config := w.cluster.Config()
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !refuses.Load() || !strings.Contains(r.URL.Path, "nodemaintenances") {
				return next.RoundTrip(r)
			}
			body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused","reason":%q,"code":%d}`,
				map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden"}[status], status)
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})
	}
	return setup{config: config, state: requestorOptions(false)}
}

func TestWithRequestorModeOffNoNodeInPlaceNeedsTheNodeMaintenances(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			w := newWorld(t, 2)
			var refuses atomic.Bool
			refuses.Store(true)
			w.manage(w.withoutMaintenances(status, &refuses))
			w.apply(t.Context(), policyOf(1))
			w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
			w.cluster.NewDriver()
			w.eventually("the new driver", func() bool {
				return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-2" && w.cluster.Revision("n1") == "hash-2"
			})
		})
	}
}

func TestANodeInRequestorModeWaitsUntilItsNodeMaintenanceCanBeRead(t *testing.T) {
	w := requesting(t, func(*world) {})
	w.eventually("a NodeMaintenance", func() bool { return w.cluster.Maintenance("n0") != "" })
	w.cluster.Maintain("n0")
	w.awaitState("n0", UpgradeStateDone)
	w.cluster.NewDriver()
	w.awaitState("n0", UpgradeStateNodeMaintenanceRequired)
	w.eventually("a NodeMaintenance", func() bool { return w.cluster.Maintenance("n0") != "" })
	var refuses atomic.Bool
	refuses.Store(true)
	w.manage(w.withoutMaintenances(http.StatusForbidden, &refuses))
	w.apply(t.Context(), policyOf(1))
	if gate := w.awaitGate("n0", "Maintenance"); gate.Detail != "the NodeMaintenances could not be read" {
		t.Errorf("the node waits for %q", gate.Detail)
	}
	refuses.Store(false)
	w.cluster.Maintain("n0")
	w.eventually("the end of the upgrade", func() bool {
		return w.cluster.State("n0") == UpgradeStateDone && w.cluster.Revision("n0") == "hash-3" && w.cluster.Maintenance("n0") == ""
	})
}

func TestInvalidRequestorOptionsDoNotMatterIfTheModeIsOff(t *testing.T) {
	w := newWorld(t, 1)
	w.manage(setup{state: StateOptions{Requestor: RequestorOptions{MaintenanceOPRequestorID: "not a domain name"}}})
	w.apply(t.Context(), policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
}
