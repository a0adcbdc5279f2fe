package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"driverupgrade.example/go/internal/engine"
)

const (
	intervalsMax = 3 // without a call, until an order ends
	pauseMin     = 100 * time.Millisecond
)

// order is a policy for some nodes, applied again as things change. What it needs is guarded by Host.mu.
type order struct {
	ctx     context.Context // of the call: nothing is sent after its end
	forget  func() bool
	nodes   map[string]bool
	names   []byte
	policy  []byte // nil: the nodes are released
	once    bool   // nothing is left behind
	until   time.Time
	wakeAt  time.Time // zero: nothing is to be done at a time
	waiting []*waiter
	ended   bool
}

// waiter is a call that waits until nothing is due at once.
type waiter struct {
	done   chan struct{} // closed then
	errors []error
}

// Apply carries out what is due at once on these nodes, and leaves an order behind. It waits for answers of the API server, and
// for nothing else. Errors: what the engine does not take, and up to three requests that were refused.
// once: without an order behind it.
func (h *Host) Apply(ctx context.Context, nodes []string, policy []byte, once bool) error {
	return h.order(ctx, nodes, policy, once)
}

// Release gives the nodes back, for an operator that goes.
func (h *Host) Release(ctx context.Context, nodes []string) error {
	return h.order(ctx, nodes, nil, true)
}

func (h *Host) order(ctx context.Context, nodes []string, policy []byte, once bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.called(ctx)
	names, err := json.Marshal(nodes)
	if err != nil {
		return err
	}
	made := &order{ctx: ctx, nodes: map[string]bool{}, names: names, policy: policy, once: once,
		until: h.options.Clock.Now().Add(intervalsMax * h.options.Interval)}
	for _, node := range nodes {
		made.nodes[node] = true
	}
	wait := &waiter{done: make(chan struct{})}
	made.waiting = []*waiter{wait}
	made.forget = context.AfterFunc(ctx, h.ring)
	h.mu.Lock()
	h.replace(made)
	h.mu.Unlock()
	h.ring()
	select {
	case <-wait.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-h.ctx.Done():
		return errors.New("the upgrade manager is closed")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(wait.errors...)
}

// replace puts an order in the place of those that had one of its nodes. They end as a whole: of a part that has lost a node, the
// engine would make two, and count each for itself.
func (h *Host) replace(made *order) {
	for _, other := range h.orders {
		for node := range other.nodes {
			if made.nodes[node] {
				other.end()
				break
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

func (o *order) end(errors ...error) {
	o.ended = true
	o.forget()
	o.answer(errors...)
}

// answer lets the calls return that wait for the order.
func (o *order) answer(errors ...error) {
	for _, one := range o.waiting {
		one.errors = append(one.errors, errors...)
		close(one.done)
	}
	o.waiting = nil
}

func (h *Host) dropEnded() {
	h.orders = slices.DeleteFunc(h.orders, func(o *order) bool { return o.ended })
}

// run makes a round whenever something has changed, or its time has come.
func (h *Host) run() {
	defer h.finish()
	for {
		wait := h.round()
		timer := h.options.Clock.NewTimer(wait)
		select {
		case <-h.ctx.Done():
		case <-h.bell:
		case <-timer.C():
		}
		timer.Stop()
		if h.ctx.Err() != nil {
			return
		}
	}
}

func (h *Host) finish() {
	h.stop()
	h.mu.Lock()
	for _, o := range h.orders {
		o.end(errors.New("the upgrade manager is closed"))
	}
	h.orders = nil
	h.mu.Unlock()
	h.running.Wait()
	h.engine.Close()
}

// round applies every order once, and says how long the next one can wait.
func (h *Host) round() time.Duration {
	now := h.options.Clock.Now()
	idle := intervalsMax * h.options.Interval
	h.mu.Lock()
	for _, o := range h.orders {
		if err := o.ctx.Err(); err != nil || now.After(o.until) {
			o.end(err)
		}
	}
	h.dropEnded()
	orders := slices.Clone(h.orders)
	left := h.caller.Err() != nil && now.Sub(h.calledAt) > idle
	h.mu.Unlock()
	if left && len(orders) == 0 {
		h.stop()
		return 0
	}
	for _, o := range orders {
		h.pass(o)
	}
	h.settle()
	return h.pause(idle)
}

func (h *Host) pause(longest time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.options.Clock.Now()
	wait := longest
	for _, o := range h.orders {
		wait = min(wait, o.until.Sub(now)+pauseMin)
		if !o.wakeAt.IsZero() {
			wait = min(wait, o.wakeAt.Sub(now))
		}
	}
	return max(wait, pauseMin)
}

// pass applies one order, and begins what is due.
func (h *Host) pass(o *order) {
	if h.options.RestartOnly != nil {
		if _, err := h.read(); err != nil {
			h.log.Error(err, "the driver's nodes could not be read")
		}
	}
	h.mu.Lock()
	names, policy, over := o.names, o.policy, o.ended || o.ctx.Err() != nil
	if len(o.nodes) == 0 {
		o.answer()
		over = true
	}
	h.mu.Unlock()
	if over {
		return
	}
	now := h.options.Clock.Now()
	var found engine.Pass
	var err error
	if policy == nil {
		found, err = h.engine.Release(names, now)
	} else {
		found, err = h.engine.Apply(names, policy, now)
	}
	waits := err == nil && policy != nil && h.follow(found)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		if !h.isBroken(err) {
			h.log.Error(err, "the upgrade policy could not be applied")
		}
		o.end(err)
		h.dropEnded()
		return
	}
	for _, gate := range found.Gates {
		h.log.V(1).Info("Node waits", "node", gate.Node, "state", gate.State, "reason", gate.Reason, "detail", gate.Detail)
	}
	o.wakeAt, _ = found.Wake()
	for _, node := range found.Work {
		h.underWay[node] = true
		h.running.Go(func() { h.serve(o.ctx, node) })
	}
	for node := range h.underWay {
		waits = waits || o.nodes[node]
	}
	if waits || len(found.Work) > 0 {
		return
	}
	h.settleLocked() // before the calls return: what was refused is told to them
	if o.once {
		o.end()
		h.dropEnded()
	} else {
		o.answer()
	}
}

// unmarked: somebody took the node's state label away, as operators do whose upgrades are switched off. They do not call then;
// so the node is left alone until the next call that names it.
func (h *Host) unmarked(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.orders {
		if o.policy != nil && o.nodes[node] {
			delete(o.nodes, node)
			o.names, _ = json.Marshal(keysOf(o.nodes))
		}
	}
}

// serve sends a node's requests one after the other. Once ctx has ended they are all answered as not sent, so that the engine
// is done with them.
func (h *Host) serve(ctx context.Context, node string) {
	defer func() {
		h.mu.Lock()
		delete(h.underWay, node)
		h.mu.Unlock()
		h.ring()
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	for {
		request, err := h.engine.Next(node, h.options.Clock.Now())
		if h.isBroken(err) || (err == nil && request.Verb == "") {
			return
		}
		told := answer{status: engine.NotSent, err: err}
		if err == nil {
			told = h.connection.send(ctx, request)
		}
		if told.err != nil {
			h.log.Error(told.err, "a request was not answered", "node", node, "verb", request.Verb, "target", request.Target)
		}
		more, err := h.engine.Answer(node, told.status, told.retryAfter, told.body, h.options.Clock.Now())
		if h.isBroken(err) || err != nil || !more {
			return
		}
	}
}

func (h *Host) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settleLocked()
}

// settleLocked tells of what has happened: Events, the log, and the calls that wait.
func (h *Host) settleLocked() {
	settled, err := h.engine.Settle(h.options.Clock.Now())
	if err != nil {
		h.log.Error(err, "the outcome of the requests is not known")
		return
	}
	for _, outcome := range settled.Outcomes {
		if outcome.Code == 0 {
			h.log.V(1).Info("Node's requests are answered", "node", outcome.Node, "patched", outcome.Patched, "evictions",
				outcome.EvictionsAccepted, "refused", outcome.EvictionsRefused, "podsDeleted", outcome.PodsDeleted)
			continue
		}
		failure := fmt.Errorf("node %s: %s", outcome.Node, outcome.Message)
		h.log.Info("A request failed, and is planned again", "node", outcome.Node, "error", outcome.Message)
		if outcome.Code != engine.CodeAborted { // else somebody else was faster
			h.tellWaiters(outcome.Node, failure)
		}
	}
	for _, event := range settled.Events {
		h.log.V(1).Info(event.Message, "node", event.Node, "type", event.Type)
		if h.options.Recorder != nil {
			h.options.Recorder.Event(subjectOf(event), event.Type, event.Reason, event.Message)
		}
	}
}

func (h *Host) tellWaiters(node string, failure error) {
	const most = 3
	for _, o := range h.orders {
		for _, one := range o.waiting {
			if o.nodes[node] && len(one.errors) < most {
				one.errors = append(one.errors, failure)
			}
		}
	}
}

func subjectOf(event engine.Event) *corev1.ObjectReference {
	subject := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: event.Node}
	if event.Pod != nil {
		subject.Kind, subject.Namespace, subject.Name = "Pod", event.Pod.Namespace, event.Pod.Name
		subject.UID = types.UID(event.Pod.UID)
		return subject
	}
	subject.UID = types.UID(event.NodeUID)
	return subject
}
