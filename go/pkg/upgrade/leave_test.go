package upgrade

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"

	"driverupgrade.example/go/internal/fakecluster"
)

// untimed returns a policy without timeouts, so that no node fails, however far the clock advances.
func untimed() *v1alpha1.DriverUpgradePolicySpec {
	policy := policyOf(1)
	policy.DrainSpec.TimeoutSecond = 0
	return policy
}

// inDrain returns a world with a node that is being drained and whose pods are watched, and the number of watches.
func inDrain(t *testing.T, ctx context.Context) (w *world, watches int) {
	w = newWorld(t, 1)
	w.apply(ctx, untimed())
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.eventually("the watches of the driver", func() bool { return w.cluster.OpenWatches() == 4 })
	w.cluster.AddWorkload("stays", "n0")
	w.cluster.SetBefore(func(_, path string) bool { return path != "/api/v1/namespaces/work/pods/stays/eviction" })
	w.cluster.NewDriver()
	w.awaitState("n0", UpgradeStateDrainRequired)
	w.eventually("the watch of the node's pods", func() bool { return w.cluster.OpenWatches() == 5 })
	return w, 5
}

func TestNothingIsWrittenOnceTheContextsOfAllCallsHaveEndedAndWatchesGoOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w, open := inDrain(t, ctx)
	cancel()
	writes, lists, watches := w.cluster.Writes(), w.lists(), w.watches()
	w.cluster.EndWatches()
	w.eventually("restarted watches", func() bool { return w.watches() == watches+open })
	w.clock.Step(time.Minute)
	w.cluster.SetLabel("n0", "seen", "yes")
	w.eventually("a change between the calls", func() bool {
		nodes := w.build(t.Context()).NodeStates[UpgradeStateDrainRequired]
		return len(nodes) == 1 && nodes[0].Node.Labels["seen"] == "yes"
	})
	if sent := w.cluster.Writes(); sent != writes {
		t.Errorf("%d requests were sent afterwards", sent-writes)
	}
	// The next call continues the upgrade, and lists nothing again before it restarts the driver.
	var listed atomic.Int64
	w.cluster.SetBefore(func(verb, _ string) bool {
		if verb == http.MethodDelete {
			listed.CompareAndSwap(0, int64(w.lists()))
		}
		return true
	})
	w.eventually("the end of the upgrade", func() bool {
		w.apply(t.Context(), untimed())
		w.clock.Step(time.Second) // failed requests are retried after a pause
		return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-2"
	})
	if now := int(listed.Load()); now != lists {
		t.Errorf("%d lists were sent", now-lists)
	}
}

// controller-runtime's ReconciliationTimeout gives each call of Reconcile a context that ends with the call.
func TestAnUpgradeContinuesWithAContextPerCall(t *testing.T) {
	w := newWorld(t, 2)
	reconcile := func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.apply(ctx, untimed())
	}
	reconcile()
	w.eventually("the states of current nodes", func() bool { reconcile(); return w.allIn(UpgradeStateDone)() })
	for _, revision := range []string{"hash-2", "hash-3"} {
		watches := w.watches()
		w.cluster.EndWatches() // between two calls
		w.eventually("restarted watches", func() bool { return w.watches() >= watches+4 })
		w.cluster.NewDriver()
		w.eventually("the new driver on all nodes", func() bool {
			reconcile()
			w.clock.Step(time.Second) // requests that a context canceled are retried after a pause
			return w.allIn(UpgradeStateDone)() && !slices.ContainsFunc(w.nodes, func(node string) bool { return w.cluster.Revision(node) != revision })
		})
	}
}

// watches counts all watches that were started.
func (w *world) watches() (watches int) {
	for _, request := range w.cluster.Requests() {
		if request.Watch {
			watches++
		}
	}
	return watches
}

func TestWatchesEndAfterThreeIntervalsWithoutACall(t *testing.T) {
	w, _ := inDrain(t, t.Context())
	w.eventually("the end of the order and of the watch of the node's pods", func() bool {
		w.clock.Step(interval)
		return w.cluster.OpenWatches() <= 4
	})
	w.eventually("the end of all watches", func() bool {
		w.clock.Step(interval)
		return w.cluster.OpenWatches() == 0
	})
	w.eventually("no host that has ended", func() bool { return len(w.manager.allHosts()) == 0 })
}

func TestAHostWithoutOrdersEndsThreeIntervalsAfterTheLastCall(t *testing.T) {
	w := newWorld(t, 1)
	w.build(t.Context())
	w.clock.Step(2 * interval)
	w.build(t.Context())
	w.clock.Step(3*interval - time.Second)
	w.cluster.SetLabel("n0", "seen", "yes") // causes a round
	time.Sleep(100 * time.Millisecond)
	if len(w.manager.allHosts()) != 1 {
		t.Error("it has ended before")
	}
	w.clock.Step(2 * time.Second)
	w.eventually("its end", func() bool { return len(w.manager.allHosts()) == 0 && w.cluster.OpenWatches() == 0 })
}

func TestAnOperatorThatChangesItsSelectionKeepsOneCopyOfTheNodes(t *testing.T) {
	w := newWorld(t, 1)
	w.build(t.Context())
	w.eventually("the watches", func() bool { return w.cluster.OpenWatches() == 4 })
	other := map[string]string{"app": "another-driver"}
	w.eventually("the watches of one selection", func() bool {
		if _, err := w.manager.BuildState(t.Context(), fakecluster.Namespace, other); err != nil {
			t.Fatal(err)
		}
		w.clock.Step(interval)
		return w.cluster.OpenWatches() == 4 && len(w.manager.allHosts()) == 1
	})
	w.manager.mu.Lock()
	defer w.manager.mu.Unlock()
	if keys := slices.Collect(maps.Keys(w.manager.hosts)); len(keys) != 1 || !contains(keys[0], "another-driver") {
		t.Errorf("kept: %q", keys)
	}
}

func TestAnInvalidIntervalMeansTheDefault(t *testing.T) {
	for _, none := range []time.Duration{0, -time.Second} {
		w := newWorld(t, 0)
		manager, err := NewManager(logr.Discard(), w.cluster.Config(), nil, StateOptions{}, WithInterval(none))
		if err != nil || manager.options.Interval != interval {
			t.Errorf("%v: %v, %v", none, manager.options.Interval, err)
		}
	}
}
