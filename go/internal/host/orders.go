package host

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"driverupgrade.example/go/internal/engine"
)

const (
	intervalsMax = 3 // without a call, until an order ends
	pauseMin     = 100 * time.Millisecond
	// What comes within this after a round is gathered for the next one.
	gatherFactor = 4 // times what the round took
	gatherMax    = 50 * time.Millisecond
)

// ErrClosed is the answer of a Host that has come to its end. The next BuildState has another one.
var ErrClosed = errors.New("the upgrade manager is closed")

// order is a policy for some nodes, applied again as things change. What it needs is guarded by Host.mu.
//
// It stands although all its nodes are done: an operator's own watch and ours are two streams, so that a call for a new driver may be
// served before the new driver is seen here. The order carries it out then; else the nodes would wait for the next call.
type order struct {
	ctx    context.Context // of the call: nothing is sent after its end
	forget func() bool
	owner  string // owner of the part; empty: the part has no owner
	nodes  map[string]bool
	names  []byte
	policy []byte // nil: the nodes are released
	once   bool   // nothing is left behind
	until  time.Time
	wakeAt time.Time // zero: nothing is to be done at a time
	ended  bool
	void   bool // another policy has taken its place: what a pass has not sent yet is not sent
	// Reason why no further node starts; empty if nodes start. It is never reset, because the next call makes a new order.
	held string

	findings map[engine.Finding]noted // findings of the last pass

	// The call waits for the nodes that the first pass has begun, and for no others: work that comes later, as of a rollout of hundreds
	// of nodes, is not to hold the operator up.
	begun  map[string]bool // these nodes: whether one is still under way; nil before the first pass
	heard  map[string]bool // of which the outcome is known: what comes later is of a later pass
	done   chan struct{}   // closed once the call may return; nil then
	errors []error         // for the call
}

// Part is the nodes of a call.
type Part struct {
	Owner string // each owner has a rollout of its own; empty: the part has no owner
	Nodes []string
	// Nodes that were without a driver pod when the others were read; they stay where an order of the same owner with the same policy has
	// them.
	Podless []string
}

// Apply makes one pass on these nodes, and leaves an order behind. It waits until what the pass sends is answered, and for nothing
// else. Errors: what the engine does not take, and up to three requests of that pass that were refused.
// once: without an order behind it.
func (h *Host) Apply(ctx context.Context, part Part, policy []byte, once bool) error {
	return h.order(ctx, part, policy, once)
}

// Release gives the nodes back, for an operator that goes.
func (h *Host) Release(ctx context.Context, nodes []string) error {
	return h.order(ctx, Part{Nodes: nodes}, nil, true)
}

func (h *Host) order(ctx context.Context, part Part, policy []byte, once bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	made := &order{ctx: ctx, owner: part.Owner, nodes: map[string]bool{}, policy: policy, once: once,
		until: h.options.Clock.Now().Add(intervalsMax * h.options.Interval), findings: map[engine.Finding]noted{}, done: done}
	for _, node := range part.Nodes {
		made.nodes[node] = true
	}
	h.mu.Lock()
	if h.Closed() { // finish, which ends the orders, has the lock after this or has had it
		h.mu.Unlock()
		return ErrClosed
	}
	h.calledAt = h.options.Clock.Now()
	made.forget, made.held = context.AfterFunc(ctx, h.ring), h.hold
	h.replace(made, part.Podless)
	made.name()
	h.mu.Unlock()
	alert(h.ordered)
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	case <-h.ctx.Done():
		return ErrClosed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(made.errors...)
}

// replace puts an order in the place of those that had one of its nodes. They end as a whole: of a part that has lost a node, the
// engine would make two, and count each for itself. What another policy has begun, and what still waits for its turn, is not sent.
// The caller had no opinion on a podless node, as its state is without it: what the same policy has ordered for that node stays. A state
// of podless nodes alone is about those.
func (h *Host) replace(made *order, podless []string) {
	named := made.nodes
	if len(named) == 0 {
		named = map[string]bool{}
		for _, node := range podless {
			named[node] = true
		}
	}
	// Also of an order that is no more, or whose pass is being made.
	for task := range h.underWay {
		if named[task.node] && !task.order.isLike(made) {
			task.withdraw()
		}
	}
	if h.passing != nil && h.passing.hasOneOf(named) && !h.passing.isLike(made) {
		h.passing.void = true
	}
	for _, other := range h.orders {
		if !other.hasOneOf(named) {
			continue
		}
		other.end()
		maps.Copy(made.findings, other.findings)
		if other.isLike(made) {
			for _, node := range podless {
				if other.nodes[node] {
					made.nodes[node] = true
				}
			}
			continue
		}
		other.void = true
		for task := range h.underWay {
			if other.nodes[task.node] {
				task.withdraw()
			}
		}
	}
	h.dropEnded()
	h.orders = append(h.orders, made)
}

func keysOf(of map[string]bool) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// name tells the engine of the nodes, after each change of them.
func (o *order) name() { o.names = engine.Part{Owner: o.owner, Names: keysOf(o.nodes)}.Text() }

// isLike returns whether both orders are for the same owner and by the same policy.
func (o *order) isLike(other *order) bool {
	return o.owner == other.owner && bytes.Equal(o.policy, other.policy)
}

func (o *order) hasOneOf(nodes map[string]bool) bool {
	for node := range o.nodes {
		if nodes[node] {
			return true
		}
	}
	return false
}

func (o *order) end(errors ...error) {
	o.ended = true
	o.forget()
	o.answer(errors...)
}

// answer lets the call return.
func (o *order) answer(errors ...error) {
	if o.done == nil {
		return
	}
	o.errors = append(o.errors, errors...)
	close(o.done)
	o.done = nil
}

func (h *Host) dropEnded() {
	h.orders = slices.DeleteFunc(h.orders, func(o *order) bool { return o.ended })
}
