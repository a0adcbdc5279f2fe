//go:build !driverupgrade_cgo

package upgrade

import (
	"sync"
	"testing"

	"driverupgrade.example/go/internal/engine"
)

// The WebAssembly module itself traps, in the middle of an upgrade.
func TestANewEngineContinuesAfterATrapOfTheModule(t *testing.T) {
	w := newWorld(t, 2)
	var mu sync.Mutex
	var engines []engine.Engine
	w.manager.options.Engine = func(options engine.Options) (engine.Engine, error) {
		made, err := engine.New(options)
		mu.Lock()
		defer mu.Unlock()
		engines = append(engines, made)
		return made, err
	}
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.StartUnready()
	w.cluster.NewDriver()
	w.eventually("a node in the middle", func() bool { return w.cluster.Revision("n0") == "hash-2" || w.cluster.Revision("n1") == "hash-2" })
	engine.Break(engines[0])
	w.cluster.SetReady("n0") // wakes the engine
	w.cluster.SetReady("n1")
	w.eventually("the new driver on every node", func() bool {
		for _, node := range w.nodes {
			w.cluster.SetReady(node)
		}
		state, err := w.manager.BuildState(t.Context(), "gpu-operator", driverLabels)
		if err == nil {
			_ = w.manager.ApplyState(t.Context(), state, policyOf(1))
		}
		return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-2" && w.cluster.Revision("n1") == "hash-2"
	})
	mu.Lock()
	defer mu.Unlock()
	if len(engines) != 2 {
		t.Errorf("%d engines were made", len(engines))
	}
}
