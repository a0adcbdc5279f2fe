package upgrade

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func (w *world) revised() (nodes int) {
	for _, node := range w.nodes {
		if w.cluster.Revision(node) == "hash-2" {
			nodes++
		}
	}
	return nodes
}

// driversDeleted counts the deletions of driver pods.
func (w *world) driversDeleted() (deletions int) {
	for _, request := range w.cluster.Requests() {
		if request.Verb == http.MethodDelete && strings.Contains(request.Path, "/pods/") {
			deletions++
		}
	}
	return deletions
}

// ADR 0007: watches that resume after the restore deliver nothing, because their versions do not exist yet.
func TestARestoredClusterIsReadAgain(t *testing.T) {
	w := started(t, 3, policyOf(1), func(*world) {})
	w.eventually("a first node with the new driver", func() bool { return w.revised() == 1 })
	restore := w.cluster.Save()
	w.awaitEnd()
	w.eventually("all nodes done", w.allIn(UpgradeStateDone))
	restore()
	outdated, deleted := len(w.nodes)-w.revised(), w.driversDeleted()
	if outdated != 2 {
		t.Fatalf("%d nodes have the old driver after the restore", outdated)
	}
	w.eventually("the new driver on all nodes", func() bool {
		// Calls fail until the nodes have been listed, and one more call fails when the engine is replaced.
		if state, err := w.manager.BuildState(t.Context(), "gpu-operator", driverLabels); err == nil {
			_ = w.manager.ApplyState(t.Context(), state, policyOf(1))
		}
		w.clock.Step(time.Second)
		return w.revised() == 3 && w.allIn(UpgradeStateDone)()
	})
	if again := w.driversDeleted() - deleted; again != outdated {
		t.Errorf("%d driver pods were deleted for %d nodes", again, outdated)
	}
}

func TestABrokenConnectionCostsOneListOfEachKind(t *testing.T) {
	w := newWorld(t, 2)
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.eventually("the watches of the driver", func() bool { return w.cluster.OpenWatches() == 4 })
	lists := w.lists()
	w.cluster.BreakWatches()
	w.eventually("a list of each kind", func() bool { return w.lists() >= lists+4 && w.cluster.OpenWatches() == 4 })
	w.cluster.NewDriver()
	w.awaitEnd()
	if listed := w.lists() - lists; listed != 4+len(w.nodes) { // one list of each kind, and one of the pods of each node
		t.Errorf("%d lists were sent", listed)
	}
}
