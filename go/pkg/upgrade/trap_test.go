package upgrade

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"driverupgrade.example/go/internal/engine"
)

// trapping is an engine with a defect that appears in one call, and in all later calls.
type trapping struct {
	engine.Engine
	trap    *trap
	trapped *atomic.Bool // whether this engine has trapped
}

// trap affects one of the engines: engines that are created after the trap have no defect.
type trap struct {
	call string       // the function that traps
	left atomic.Int64 // number of calls before the trap; not positive once the trap has occurred
}

var errTrap = &engine.Error{Code: engine.CodeDefect, Message: "trap: unreachable"}

func (e trapping) at(call string) error {
	if e.trapped.Load() {
		return errTrap
	}
	if call == e.trap.call && e.trap.left.Add(-1) == 0 {
		e.trapped.Store(true)
		return errTrap
	}
	return nil
}

// through calls the engine unless it has trapped.
func through[T any](e trapping, call string, run func() (T, error)) (out T, err error) {
	if err := e.at(call); err != nil {
		return out, err
	}
	return run()
}

func (e trapping) Put(kind engine.Kind, list []byte) error {
	_, err := through(e, "Put", func() (any, error) { return nil, e.Engine.Put(kind, list) })
	return err
}

func (e trapping) WatchLine(kind engine.Kind, line []byte) error {
	_, err := through(e, "WatchLine", func() (any, error) { return nil, e.Engine.WatchLine(kind, line) })
	return err
}

func (e trapping) PutPods(node string, list []byte, uses engine.UsesDriver) (bool, error) {
	return through(e, "PutPods", func() (bool, error) { return e.Engine.PutPods(node, list, uses) })
}

func (e trapping) Read(now time.Time) (engine.Reading, error) {
	return through(e, "Read", func() (engine.Reading, error) { return e.Engine.Read(now) })
}

func (e trapping) Tell(answers []engine.Answer) error {
	_, err := through(e, "Tell", func() (any, error) { return nil, e.Engine.Tell(answers) })
	return err
}

func (e trapping) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	return through(e, "Apply", func() (engine.Pass, error) { return e.Engine.Apply(nodes, policy, now) })
}

func (e trapping) Release(nodes []byte, now time.Time) (engine.Pass, error) {
	return through(e, "Release", func() (engine.Pass, error) { return e.Engine.Release(nodes, now) })
}

func (e trapping) Next(node string, now time.Time) (engine.Request, error) {
	return through(e, "Next", func() (engine.Request, error) { return e.Engine.Next(node, now) })
}

func (e trapping) Answer(node string, status int, retryAfter time.Duration, body []byte, now time.Time) (bool, error) {
	return through(e, "Answer", func() (bool, error) { return e.Engine.Answer(node, status, retryAfter, body, now) })
}

func (e trapping) Settle(now time.Time) (engine.Settled, error) {
	return through(e, "Settle", func() (engine.Settled, error) { return e.Engine.Settle(now) })
}

func (e trapping) Explain(node string) (engine.Explanation, error) {
	return through(e, "Explain", func() (engine.Explanation, error) { return e.Engine.Explain(node) })
}

func (e trapping) Everything() (engine.Pass, error) {
	return through(e, "Everything", func() (engine.Pass, error) { return e.Engine.Everything() })
}

// In each case, one function traps at its n-th call, during the upgrade and the release of two nodes.
func TestANewEngineContinuesAfterATrap(t *testing.T) {
	for _, function := range []string{"Put", "WatchLine", "PutPods", "Read", "Tell", "Apply", "Release", "Next", "Answer", "Settle",
		"Explain", "Everything"} {
		t.Run(function, func(t *testing.T) {
			for _, call := range []int64{1, 2, 3, 5, 8, 13, 21, 34} {
				if reached := upgradeWithTrap(t, function, call); !reached {
					if call == 1 {
						t.Error("the function was not called")
					}
					return
				}
			}
		})
	}
}

func upgradeWithTrap(t *testing.T, function string, call int64) (reached bool) {
	w := newWorld(t, 2)
	trap := &trap{call: function}
	engines := 0
	w.manager.options.Engine = func(options engine.Options) (engine.Engine, error) {
		engines++ // the manager creates one engine at a time
		made, err := engine.New(options)
		return trapping{made, trap, new(atomic.Bool)}, err
	}
	w.manager.WithRestartOnlyPredicate(func(_, _ *corev1.PodSpec) (bool, error) { return false, nil })
	trap.left.Store(call)
	ctx, cancel := context.WithTimeout(t.Context(), patience) // a call that hangs fails the test, but does not block it
	defer cancel()
	round := func(call func(*ClusterUpgradeState)) {
		w.manager.Stats()
		state, err := w.manager.BuildState(ctx, "gpu-operator", driverLabels)
		if err == nil {
			call(state)
		}
	}
	apply := func(state *ClusterUpgradeState) { _ = w.manager.ApplyState(ctx, state, policyOf(1)) }
	release := func(state *ClusterUpgradeState) { _ = w.manager.Release(ctx, state) }
	w.eventually("the states of current nodes", func() bool { round(apply); return w.allIn(UpgradeStateDone)() })
	w.cluster.NewDriver()
	w.eventually("the new driver on every node", func() bool {
		round(apply)
		w.manager.Explain("n0")
		return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-2" && w.cluster.Revision("n1") == "hash-2"
	})
	w.eventually("no marks on the nodes", func() bool { round(release); return w.allIn("")() })
	w.eventually("a fresh engine where one has trapped", func() bool {
		round(release)
		reached = trap.left.Load() <= 0
		return engines == map[bool]int{true: 2, false: 1}[reached]
	})
	return reached
}
