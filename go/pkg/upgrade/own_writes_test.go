package upgrade

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"driverupgrade.example/go/internal/fakecluster"
)

// lagOf makes the watches of the resource `behind` send changes 50 ms late.
func lagOf(behind string) func(resource string) time.Duration {
	return func(resource string) time.Duration {
		if resource == behind {
			return 50 * time.Millisecond
		}
		return 0
	}
}

// withLateResponses makes the responses to writes arrive 20 ms late.
func withLateResponses(config *rest.Config) *rest.Config {
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if r.Method != http.MethodGet {
				time.Sleep(20 * time.Millisecond)
			}
			return response, err
		})
	}
	return config
}

// W42: an operator's own watch wakes the operator as soon as the server has the last label. By then, the module may
// have received neither the response to its request nor the event of its own watch.
func TestBuildStateWaitsForItsOwnWrites(t *testing.T) {
	const rollouts = 5
	w := newWorld(t, 2)
	w.manage(setup{config: withLateResponses(w.cluster.Config())})
	w.cluster.SetLag(lagOf("nodes"))
	w.apply(t.Context(), policyOf(1))
	for i := range rollouts {
		w.awaitRevision(fmt.Sprintf("hash-%d", 1+i))
		state := w.build(t.Context())
		if done, inProgress := w.manager.GetUpgradesDone(state), w.manager.GetUpgradesInProgress(state); done != 2 || inProgress != 0 {
			t.Fatalf("%d nodes done and %d in progress, though both nodes are done", done, inProgress)
		}
		for _, node := range state.NodeStates[UpgradeStateDone] {
			if label := node.Node.Labels[GetUpgradeStateLabelKey()]; label != UpgradeStateDone {
				t.Fatalf("%s has the label %q in its object", node.Node.Name, label)
			}
		}
		w.cluster.NewDriver()
	}
}

// W42.
func TestBuildStateWaitsForItsOwnNodeMaintenance(t *testing.T) {
	w := requesting(t, func(w *world) { w.cluster.SetLag(lagOf("nodemaintenances")) })
	w.eventually("a NodeMaintenance", func() bool { return w.cluster.Maintenance("n0") != "" })
	for _, nodes := range w.build(t.Context()).NodeStates {
		if nodes[0].NodeMaintenance == nil {
			t.Error("the state is without the NodeMaintenance")
		}
	}
}

// W42: a watch that shows nothing delays one call by five seconds, but no later call.
func TestBuildStateWaitsForTheModulesOwnWritesForFiveSecondsAtMost(t *testing.T) {
	w := newWorld(t, 1)
	state := w.build(t.Context())
	w.cluster.HoldWatches("nodes")
	if err := w.manager.ApplyState(t.Context(), state, policyOf(1)); err != nil {
		t.Fatal(err)
	}
	called, built := w.clock.Now(), make(chan error, 1)
	go func() {
		_, err := w.manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels)
		built <- err
	}()
	w.eventually("the end of the call", func() bool {
		select {
		case err := <-built:
			if err != nil {
				t.Error(err)
			}
			return true
		default:
			w.clock.Step(time.Second)
			return false
		}
	})
	if waited := w.clock.Since(called); waited < 5*time.Second {
		t.Errorf("the call has waited for %v", waited)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, nodes := range w.build(ctx).NodeStates {
		if label, found := nodes[0].Node.Labels[GetUpgradeStateLabelKey()]; found {
			t.Errorf("the node has the label %q, though its watch is held", label)
		}
	}
}
