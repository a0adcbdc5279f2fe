package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// W41: while their upgrades are switched off, NVIDIA's operators do not call ApplyState, but remove the state labels
// one node at a time.

func TestAfterALabelIsRemovedTheOrderStartsNoNodeBeforeTheNextCall(t *testing.T) {
	for name, remove := range map[string]func(*world){
		"seen by the watch": func(w *world) { w.cluster.RemoveLabel("n0", GetUpgradeStateLabelKey()) },
		"while no watch was open": func(w *world) {
			w.cluster.MissedByWatches(func() { w.cluster.RemoveLabel("n0", GetUpgradeStateLabelKey()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			w.apply(t.Context(), policyOf(1))
			w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
			remove(w)
			w.eventually("a state without the label", func() bool { return len(w.build(t.Context()).NodeStates[UpgradeStateUnknown]) == 1 })
			w.cluster.NewDriver()
			gate := w.awaitGate("n1", "Paused")
			if !contains(gate.Detail, "another client removed the state label of node n0", "the next ApplyState") {
				t.Errorf("the gate says %q", gate.Detail)
			}
			if state := w.cluster.State("n0"); state != "" || w.cluster.TimesCordoned("n0")+w.cluster.TimesCordoned("n1") > 0 {
				t.Errorf("the nodes are %s", w.states())
			}
			w.apply(t.Context(), policyOf(1))
			w.awaitEnd()
		})
	}
}

// removeLabels acts like one Reconcile of an operator whose upgrades are switched off. It calls after() once for each
// removed label.
func (w *world) removeLabels(after func()) (removed int) {
	for _, node := range w.nodes {
		if w.cluster.State(node) != "" {
			w.cluster.RemoveLabel(node, GetUpgradeStateLabelKey())
			removed++
			after()
		}
	}
	return removed
}

func (w *world) cordoned() (cordoned []string) {
	for _, node := range w.nodes {
		if w.cluster.Cordoned(node) {
			cordoned = append(cordoned, node)
		}
	}
	return cordoned
}

// inTheMiddle returns a world in the middle of a rollout, and the names of the nodes that have started. As many nodes
// as the policy allows have a new driver that is not ready yet, and all other nodes wait.
func inTheMiddle(t *testing.T, nodes, parallel int) (w *world, started []string) {
	t.Helper()
	w = newWorld(t, nodes)
	for _, node := range w.nodes {
		w.cluster.AddWorkload("work-"+node, node)
	}
	w.apply(t.Context(), policyOf(parallel))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.StartUnready()
	w.cluster.NewDriver()
	w.eventually("new drivers on nodes that wait for them", func() bool {
		started = w.cordoned()
		return len(started) == parallel &&
			!slices.ContainsFunc(started, func(node string) bool { return w.cluster.Revision(node) != "hash-2" })
	})
	return w, started
}

func (w *world) setAllReady() {
	for _, node := range w.nodes {
		w.cluster.SetReady(node)
	}
}

func TestSwitchingUpgradesOffStartsNoUpgradeAndLeavesNoNodeCordoned(t *testing.T) {
	const nodes, parallel = 20, 4
	w, started := inTheMiddle(t, nodes, parallel)
	checkStarted := func() {
		t.Helper()
		for _, node := range w.nodes {
			if !slices.Contains(started, node) && (w.cluster.TimesCordoned(node) > 0 || !w.cluster.HasWorkload("work-"+node)) {
				t.Fatalf("%s has started with upgrades off: %s", node, w.states())
			}
		}
	}
	// While upgrades are switched off, drivers become ready, which frees their slots.
	ready := slices.Clone(started)
	w.removeLabels(func() {
		if len(ready) > 0 {
			w.cluster.SetReady(ready[0])
			ready = ready[1:]
		}
		time.Sleep(5 * time.Millisecond)
		checkStarted()
	})
	w.eventually("the end of what was in progress", func() bool {
		w.removeLabels(checkStarted) // each change makes the operator reconcile again
		w.clock.Step(time.Second)
		checkStarted()
		return len(w.cordoned()) == 0
	})
	// Upgrades are switched on again. If a node has finished in the meantime, its label is written separately, after a
	// pause.
	most := 0
	for done := false; !done; {
		w.apply(t.Context(), policyOf(parallel))
		w.eventually("some progress", func() bool {
			most = max(most, len(w.cordoned()))
			w.setAllReady()
			done = w.allIn(UpgradeStateDone)() && len(w.cordoned()) == 0
			return true
		})
		w.clock.Step(time.Second)
		time.Sleep(time.Millisecond)
	}
	if most > parallel {
		t.Errorf("%d nodes were cordoned at once, %d may be", most, parallel)
	}
	w.awaitEnd()
}

// Nodes that were in progress when upgrades were switched off, and that have since lost their label, count when
// upgrades are switched on again.
func TestNodesInProgressWithoutALabelCountInBudgets(t *testing.T) {
	const nodes, parallel = 8, 2
	w, started := inTheMiddle(t, nodes, parallel)
	w.removeLabels(func() {})
	for i := range 20 {
		w.apply(t.Context(), policyOf(parallel))
		w.cluster.SetLabel("n0", "round", fmt.Sprint(i))
		time.Sleep(5 * time.Millisecond)
		if now := w.cordoned(); !slices.Equal(now, started) {
			t.Fatalf("%s are cordoned, and %s have started", strings.Join(now, ","), strings.Join(started, ","))
		}
	}
	for range 10 * nodes {
		w.setAllReady()
		if len(w.cordoned()) > parallel {
			t.Fatalf("%s are cordoned", strings.Join(w.cordoned(), ","))
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.eventually("the end", func() bool {
		w.setAllReady()
		w.clock.Step(time.Second)
		return w.allIn(UpgradeStateDone)() && len(w.cordoned()) == 0
	})
	w.awaitEnd()
}
