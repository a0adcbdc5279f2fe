package upgrade

import (
	"sync/atomic"
	"testing"
	"time"

	"driverupgrade.example/go/internal/engine"
)

// trapping has a defect that shows itself in one of its calls, and in all that come after.
type trapping struct {
	engine.Engine
	left *atomic.Int64 // calls until then; below zero: it is over, for engines that are made later, too
}

var errTrap = &engine.Error{Code: engine.CodeDefect, Message: "trap: unreachable"}

func (e trapping) trapped() bool { return e.left.Add(-1) == 0 }

func (e trapping) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	if e.trapped() {
		return engine.Pass{}, errTrap
	}
	return e.Engine.Apply(nodes, policy, now)
}

func (e trapping) Next(node string, now time.Time) (engine.Request, error) {
	if e.trapped() {
		return engine.Request{}, errTrap
	}
	return e.Engine.Next(node, now)
}

func (e trapping) Answer(node string, status int, retryAfter time.Duration, body []byte, now time.Time) (bool, error) {
	if e.trapped() {
		return false, errTrap
	}
	return e.Engine.Answer(node, status, retryAfter, body, now)
}

func TestAfterATrapInAnyCallAFreshEngineGoesOn(t *testing.T) {
	const callsMin = 15 // an upgrade of two nodes takes more
	for call := int64(1); ; call++ {
		w := newWorld(t, 2)
		left := new(atomic.Int64)
		w.manager.options.Engine = func(options engine.Options) (engine.Engine, error) {
			made, err := engine.New(options)
			return trapping{made, left}, err
		}
		w.apply(t.Context(), policyOf(1))
		w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
		left.Store(call)
		w.cluster.NewDriver()
		w.eventually("the new driver on every node", func() bool {
			state, err := w.manager.BuildState(t.Context(), "gpu-operator", driverLabels)
			if err == nil {
				_ = w.manager.ApplyState(t.Context(), state, policyOf(1))
			}
			return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-2" && w.cluster.Revision("n1") == "hash-2"
		})
		if left.Load() > 0 { // the upgrade was over before
			if call < callsMin {
				t.Errorf("there were fewer than %d calls", call)
			}
			return
		}
	}
}
