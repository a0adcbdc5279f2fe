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
	intervalsMax = 3 // number of intervals without a call after which an order ends
	pauseMin     = 100 * time.Millisecond
	// After a round, changes are collected for a short time, so that the next round handles them together.
	gatherFactor = 4 // times the duration of the round
	gatherMax    = 50 * time.Millisecond
)

// ErrClosed is the error of a Host that has ended. The next BuildState creates a new Host.
var ErrClosed = errors.New("the upgrade manager is closed")

// order applies a policy to some nodes, and reapplies it whenever something changes. Its fields are guarded by Host.mu.
//
// An order remains after all of its nodes are done. The operator and the module have separate watches, so the operator
// may make its call for a new driver before the module has seen that driver. The remaining order then starts the
// upgrade; otherwise, the nodes would wait for another call.
type order struct {
	ctx     context.Context // context of the call: once it is done, no request is sent
	forget  func() bool
	owner   string // owner of the part; empty: the part has no owner
	nodes   map[string]bool
	names   []byte
	policy  []byte // nil: the nodes are released
	once    bool   // the order ends when its first pass is complete
	until   time.Time
	wakeAt  time.Time // zero if nothing is scheduled
	ended   bool
	failure error  // reason why the order has ended; nil if nothing has failed
	void    bool   // replaced by an order with another policy: unsent requests are dropped
	sick    string // see Host.sick
	// Reason why no further node starts; empty if nodes may start. The reason is never reset, because the next call
	// creates a new order.
	held string

	findings map[engine.Finding]noted // findings of the last pass

	// The call waits only for the requests of the first pass. Later work, such as a rollout over hundreds of nodes,
	// must not block the operator.
	begun  map[string]bool // nodes of the first pass: true while their requests are in progress; nil before this pass
	heard  map[string]bool // nodes with a known outcome: further outcomes belong to later passes
	done   chan struct{}   // closed, and set to nil, once the call may return
	errors []error         // errors that the call returns
}

// Part contains the nodes of a call.
type Part struct {
	Owner string // owner of these nodes; each owner has its own rollout; empty if the nodes have no owner
	Nodes []string
	// Nodes that had no driver pod when the state was read. The new order takes them over from orders with the same
	// owner and the same policy.
	Podless []string
}

func (p Part) all() map[string]bool {
	nodes := map[string]bool{}
	for _, node := range slices.Concat(p.Nodes, p.Podless) {
		nodes[node] = true
	}
	return nodes
}

// Apply makes one pass over these nodes and, unless once is set, leaves an order that continues the work. It returns
// once the requests of the pass have received responses. Errors: the engine rejects the objects or the policy, or
// requests of the pass fail; at most three of these failures are reported.
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
	if h.Closed() { // if the host ends later, finish still has to acquire the lock, and ends the new order
		h.mu.Unlock()
		return ErrClosed
	}
	h.calledAt = h.options.Clock.Now()
	made.forget, made.held = context.AfterFunc(ctx, h.ring), h.hold
	if policy != nil {
		made.sick = h.sick
	}
	h.dropTroubles(part.all())
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

// replace adds an order, and ends the orders that contain one of its nodes. Such orders end completely: if an order
// merely lost a node, the engine would split the order's part and count each piece separately. Requests that were
// created under another policy and still wait for their turn are not sent. The caller's state never contains podless
// nodes, so the new order takes them over from orders with the same owner and policy, although the state does not name
// them. If the state contains only podless nodes, the orders of these nodes are replaced.
func (h *Host) replace(made *order, podless []string) {
	named := made.nodes
	if len(named) == 0 {
		named = map[string]bool{}
		for _, node := range podless {
			named[node] = true
		}
	}
	// Orders that have ended may still have tasks, and an order whose pass is in progress may be about to create some.
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

// name updates the document with the names of the nodes. It must be called after each change to nodes or sick.
func (o *order) name() {
	o.names = engine.Part{Owner: o.owner, Names: keysOf(o.nodes), RolloutSick: o.sick}.Text()
}

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

func (o *order) end(failures ...error) {
	o.ended, o.failure = true, errors.Join(failures...)
	o.forget()
	o.answer(failures...)
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
	for _, o := range h.orders {
		if o.ended {
			h.noteFailure(o)
		}
	}
	h.orders = slices.DeleteFunc(h.orders, func(o *order) bool { return o.ended })
}
