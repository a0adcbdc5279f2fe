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
	// Changes within this time after a round are collected for the next one.
	gatherFactor = 4 // times the duration of the round
	gatherMax    = 50 * time.Millisecond
)

// ErrClosed is the error of a Host that has ended. The next BuildState creates a new Host.
var ErrClosed = errors.New("the upgrade manager is closed")

// order is a policy for some nodes, which is applied again whenever something changes. Its fields are guarded by
// Host.mu.
//
// It remains after all its nodes are done. The operator's own watch and the module's watch are two streams, so a call
// for a new driver may be served before the module has seen the new driver. The order then carries out the call;
// otherwise the nodes would wait for the next call.
type order struct {
	ctx    context.Context // context of the call: nothing is sent after its end
	forget func() bool
	owner  string // owner of the part; empty: the part has no owner
	nodes  map[string]bool
	names  []byte
	policy []byte // nil: the nodes are released
	once   bool   // no order is left behind
	until  time.Time
	wakeAt time.Time // zero if nothing is scheduled
	ended  bool
	void   bool // another policy has replaced it: requests that a pass has not sent yet are dropped
	// Reason why no further node starts; empty if nodes start. It is never reset, because the next call creates a new order.
	held string

	findings map[engine.Finding]noted // findings of the last pass

	// The call waits only for the nodes that the first pass has started. Later work, such as a rollout over hundreds of nodes, must not block
	// the operator.
	begun  map[string]bool // these nodes: whether one is still in progress; nil before the first pass
	heard  map[string]bool // nodes with a known outcome: later outcomes belong to a later pass
	done   chan struct{}   // closed, and set to nil, once the call may return
	errors []error         // for the call
}

// Part contains the nodes of a call.
type Part struct {
	Owner string // each owner has its own rollout; empty: the part has no owner
	Nodes []string
	// Nodes without a driver pod when the others were read. They stay in an order of the same owner with the same policy.
	Podless []string
}

// Apply makes one pass over these nodes, and leaves an order that continues the work. It waits only until the requests
// of the pass have responses. Errors: objects that the engine does not accept, and up to three refused requests of that
// pass. once: leaves no order.
func (h *Host) Apply(ctx context.Context, part Part, policy []byte, once bool) error {
	return h.order(ctx, part, policy, once)
}

// Release releases the nodes, for an operator that is being removed.
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
	if h.Closed() { // finish, which ends the orders, takes the lock after this or has had it
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

// replace replaces the orders that contain one of the nodes. They end completely, because the engine would split a part
// that has lost a node, and count each piece separately. Work that another policy has started, and that still waits for
// its turn, is not sent. The caller did not decide about a podless node, because its state does not contain it: orders
// of the same policy for that node stay. If a state contains only podless nodes, the call applies to these nodes.
func (h *Host) replace(made *order, podless []string) {
	named := made.nodes
	if len(named) == 0 {
		named = map[string]bool{}
		for _, node := range podless {
			named[node] = true
		}
	}
	// This also applies to orders that have ended, or whose pass is in progress.
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

// name updates the document with the names of the nodes after each change of the nodes.
func (o *order) name() { o.names = engine.Part{Owner: o.owner, Names: keysOf(o.nodes)}.Text() }

// isLike reports whether both orders have the same owner and policy.
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

// answer makes the call return.
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
