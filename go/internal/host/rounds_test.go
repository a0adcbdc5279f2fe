package host

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/fakecluster"
)

// late reports a failed request from an earlier order during a pass over the same node.
type late struct {
	engine.Engine
	ended *atomic.Pointer[engine.Outcome]
	work  *atomic.Int64
}

func (e late) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	found, err := e.Engine.Apply(nodes, policy, now)
	if e.work.Add(int64(len(found.Work))) == int64(len(found.Work)) && len(found.Work) > 0 {
		e.ended.Store(&engine.Outcome{Node: found.Work[0], Code: 14, Message: "patch node n: no response was received"})
	}
	return found, err
}

func (e late) Settle(now time.Time) (engine.Settled, error) {
	settled, err := e.Engine.Settle(now)
	if outcome := e.ended.Swap(nil); outcome != nil {
		settled.Outcomes = append(settled.Outcomes, *outcome)
	}
	return settled, err
}

// A context that ends with each Reconcile cancels the requests in progress; this must not affect the next Reconcile.
func TestAFailureOfAnEarlierOrderIsNotReturned(t *testing.T) {
	cluster := fakecluster.New()
	defer cluster.Close()
	cluster.AddNode("n")
	var ended atomic.Pointer[engine.Outcome]
	var work atomic.Int64
	h := newHost(t, cluster, func(made engine.Engine) engine.Engine { return late{made, &ended, &work} })
	if _, _, err := h.Members(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Apply(t.Context(), Part{Nodes: []string{"n"}}, []byte(`{"autoUpgrade":true}`), false); err != nil {
		t.Error(err)
	}
	if work.Load() == 0 {
		t.Error("the pass had nothing to do with the node")
	}
}

// unmarking removes a node's state label during a pass that starts nodes.
type unmarking struct {
	engine.Engine
	unmark func()
}

func (e unmarking) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	found, err := e.Engine.Apply(nodes, policy, now)
	if slices.ContainsFunc(found.Plans, func(plan engine.NodePlan) bool { return slices.Contains(plan.Path, "cordon-required") }) {
		e.unmark()
	}
	return found, err
}

// W41: the server refuses only the patch to the node whose label was removed.
func TestNoNodeStartsByAPassDuringWhichAStateLabelIsRemoved(t *testing.T) {
	cluster := fakecluster.New()
	defer cluster.Close()
	nodes := []string{"a", "b"}
	for _, node := range nodes {
		cluster.AddNode(node)
	}
	cluster.NewDriver()
	unmarked := make(chan struct{})
	var once sync.Once
	var h *Host
	h = newHost(t, cluster, func(made engine.Engine) engine.Engine {
		return unmarking{made, func() {
			once.Do(func() {
				cluster.RemoveLabel("a", h.options.Identity.stateLabel())
				for held := false; !held; time.Sleep(time.Millisecond) {
					h.mu.Lock()
					held = h.orders[0].held != ""
					h.mu.Unlock()
				}
				close(unmarked)
			})
		}}
	})
	for _, node := range nodes {
		cluster.SetLabel(node, h.options.Identity.stateLabel(), "upgrade-done")
	}
	if _, _, err := h.Members(t.Context()); err != nil {
		t.Fatal(err)
	}
	policy := []byte(`{"autoUpgrade":true,"maxParallelUpgrades":0,"drain":{"enable":true}}`)
	if err := h.Apply(t.Context(), Part{Nodes: nodes}, policy, false); err != nil {
		t.Fatal(err)
	}
	<-unmarked
	for busy := true; busy; time.Sleep(time.Millisecond) { // wait for the requests of the pass
		h.mu.Lock()
		busy = h.passing != nil || len(h.underWay) > 0
		h.mu.Unlock()
	}
	for _, node := range nodes {
		if cluster.TimesCordoned(node) > 0 {
			t.Errorf("%s was started", node)
		}
	}
}

// telling is an engine that only reports the outcome of requests.
type telling struct {
	engine.Engine
	outcomes []engine.Outcome
}

func (e *telling) Settle(time.Time) (engine.Settled, error) {
	return engine.Settled{Outcomes: []engine.Outcome{e.outcomes[0]}}, nil
}

func TestACallReturnsErrorsOfTheFirstRequestPerNodeOnly(t *testing.T) {
	said := &telling{}
	o := &order{begun: map[string]bool{"n": false, "m": true}, heard: map[string]bool{}, done: make(chan struct{})}
	h := &Host{options: Options{Clock: clock.RealClock{}}, engine: said, log: logr.Discard(), orders: []*order{o}}
	for _, one := range []engine.Outcome{{Node: "n"}, {Node: "n", Code: 14, Message: "later"}, {Node: "m", Code: 7, Message: "first"},
		{Node: "m", Code: 7, Message: "second"}} {
		said.outcomes = []engine.Outcome{one}
		h.settle()
	}
	if err := errors.Join(o.errors...); err == nil || err.Error() != "node m: first" {
		t.Errorf("the call is told: %v", err)
	}
}

// heavy is an engine whose passes take time, as they do with many nodes.
type heavy struct {
	engine.Engine
	passes *atomic.Int64
}

const passTime = 5 * time.Millisecond

func (e heavy) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	e.passes.Add(1)
	time.Sleep(passTime)
	return e.Engine.Apply(nodes, policy, now)
}

func TestABurstOfChangesSharesRounds(t *testing.T) {
	const events, between = 200, 2 * time.Millisecond
	cluster := fakecluster.New()
	defer cluster.Close()
	cluster.AddNode("n")
	var passes atomic.Int64
	h := newHost(t, cluster, func(made engine.Engine) engine.Engine { return heavy{made, &passes} })
	if _, _, err := h.Members(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Apply(t.Context(), Part{Nodes: []string{"n"}}, []byte(`{"autoUpgrade":true}`), false); err != nil {
		t.Fatal(err)
	}
	before, began := passes.Load(), time.Now()
	for range events {
		h.ring()
		time.Sleep(between)
	}
	// A round takes at least 5 ms and then gathers for 20 ms: one round every 25 ms. Without gathering, there would be
	// more than twice as many rounds.
	made := passes.Load() - before
	most := int64(time.Since(began)/(passTime*(1+gatherFactor))) + 2
	if made == 0 || made > most {
		t.Errorf("%d passes for %d changes, at most %d are needed", made, events, most)
	}
}
