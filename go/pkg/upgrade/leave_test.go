package upgrade

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"driverupgrade.example/go/internal/fakecluster"
)

// The longest pause of a watch that has ended before it begins anew, and some more.
const reconnection = 3 * time.Second

// inDrain has a node in progress, whose pods are watched, and says how many watches there are.
func inDrain(t *testing.T, ctx context.Context) (w *world, watches int) {
	w = newWorld(t, 1)
	w.apply(ctx, policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.eventually("the watches of the driver", func() bool { return w.cluster.OpenWatches() == 4 })
	w.cluster.AddWorkload("stays", "n0")
	w.cluster.SetBefore(func(_, path string) bool { return path != "/api/v1/namespaces/work/pods/stays/eviction" })
	w.cluster.NewDriver()
	w.awaitState("n0", UpgradeStateDrainRequired)
	w.eventually("the watch of the node's pods", func() bool { return w.cluster.OpenWatches() == 5 })
	return w, 5
}

func TestNothingAtAllIsSentOnceTheContextsOfAllCallsHaveEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w, _ := inDrain(t, ctx)
	cancel()
	w.eventually("the end of the watch of the node's pods", func() bool { return w.cluster.OpenWatches() == 4 })
	before := len(w.cluster.Requests())
	w.cluster.EndWatches()
	w.eventually("the end of all watches", func() bool { return w.cluster.OpenWatches() == 0 })
	w.clock.Step(time.Minute)
	time.Sleep(reconnection)
	if sent := w.cluster.Requests()[before:]; len(sent) > 0 {
		t.Errorf("sent afterwards: %+v", sent)
	}
	// The next Reconcile goes on, and lists nothing again.
	w.cluster.SetBefore(nil)
	lists := w.lists()
	w.eventually("the end of the upgrade", func() bool {
		w.apply(t.Context(), policyOf(1))
		w.clock.Step(10 * time.Second) // the eviction that was refused has its pause
		return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-2"
	})
	if most := lists + 1; w.lists() > most { // the pods of the node
		t.Errorf("%d lists, %d at most were needed", w.lists(), most)
	}
}

func TestWatchesEndAfterThreeIntervalsWithoutACall(t *testing.T) {
	w, _ := inDrain(t, t.Context())
	w.eventually("the end of the order, and of the watch of the node's pods", func() bool {
		w.clock.Step(interval)
		return w.cluster.OpenWatches() <= 4
	})
	w.eventually("the end of all watches", func() bool {
		w.clock.Step(interval)
		return w.cluster.OpenWatches() == 0
	})
	w.eventually("no host that has ended", func() bool { return len(w.manager.allHosts()) == 0 })
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

func TestAnIntervalThatIsNoneIsTheUsualOne(t *testing.T) {
	for _, none := range []time.Duration{0, -time.Second} {
		w := newWorld(t, 0)
		manager, err := NewManager(logr.Discard(), w.cluster.Config(), nil, StateOptions{}, WithInterval(none))
		if err != nil || manager.options.Interval != interval {
			t.Errorf("%v: %v, %v", none, manager.options.Interval, err)
		}
	}
}
