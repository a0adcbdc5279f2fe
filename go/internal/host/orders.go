package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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

// task is what a pass has begun on a node.
type task struct {
	order    *order
	node     string
	starts   bool            // it begins an upgrade
	urgent   bool            // its requests begin an upgrade, or go on with one: whoever waits for its end has lost a node meanwhile
	queued   context.Context // ended: what has not had its turn yet is not sent
	withdraw context.CancelFunc
}

// Apply makes one pass on these nodes, and leaves an order behind. It waits until what the pass sends is answered, and for nothing
// else. Errors: what the engine does not take, and up to three requests of that pass that were refused.
// podless: nodes that were without a driver pod when the others were read; they stay where an order with the same policy has them.
// once: without an order behind it.
func (h *Host) Apply(ctx context.Context, nodes, podless []string, policy []byte, once bool) error {
	return h.order(ctx, nodes, podless, policy, once)
}

// Release gives the nodes back, for an operator that goes.
func (h *Host) Release(ctx context.Context, nodes []string) error {
	return h.order(ctx, nodes, nil, nil, true)
}

func (h *Host) order(ctx context.Context, nodes, podless []string, policy []byte, once bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	made := &order{ctx: ctx, nodes: map[string]bool{}, policy: policy, once: once,
		until: h.options.Clock.Now().Add(intervalsMax * h.options.Interval), findings: map[engine.Finding]noted{}, done: done}
	for _, node := range nodes {
		made.nodes[node] = true
	}
	h.mu.Lock()
	if h.Closed() { // finish, which ends the orders, has the lock after this or has had it
		h.mu.Unlock()
		return ErrClosed
	}
	h.calledAt = h.options.Clock.Now()
	made.forget = context.AfterFunc(ctx, h.ring)
	h.replace(made, podless)
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
		if named[task.node] && !bytes.Equal(task.order.policy, made.policy) {
			task.withdraw()
		}
	}
	if h.passing != nil && h.passing.hasOneOf(named) && !bytes.Equal(h.passing.policy, made.policy) {
		h.passing.void = true
	}
	for _, other := range h.orders {
		if !other.hasOneOf(named) {
			continue
		}
		other.end()
		maps.Copy(made.findings, other.findings)
		if bytes.Equal(other.policy, made.policy) {
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
func (o *order) name() { o.names, _ = json.Marshal(keysOf(o.nodes)) }

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

// run makes a round whenever something has changed, or its time has come. A round costs a look at all nodes, so that after it the changes
// of a moment are gathered for the next one: changes come in bursts. The moment grows with the cost of the round: in a small cluster
// nobody waits. While changes pour in, rounds of up to 12 ms take a fifth of a processor at most. Longer ones take more, as a moment is 50 ms at
// most: rounds of 50 ms take half of it. Calls of the operator wait for nothing.
func (h *Host) run() {
	defer h.finish()
	for {
		began := time.Now()
		wait := h.round()
		timer := h.options.Clock.NewTimer(wait)
		h.gather(min(gatherFactor*time.Since(began), gatherMax))
		select {
		case <-h.ctx.Done():
		case <-h.bell:
		case <-h.ordered:
		case <-timer.C():
		}
		timer.Stop()
		if h.ctx.Err() != nil {
			return
		}
	}
}

// gather lets a moment go by, unless an operator calls. The bell, if it rings meanwhile, is heard afterwards.
func (h *Host) gather(moment time.Duration) {
	timer := time.NewTimer(moment) // of real time: a clock of tests stands still
	defer timer.Stop()
	select {
	case <-h.ctx.Done():
	case <-h.ordered:
		h.ring() // it is heard once only
	case <-timer.C:
	}
}

func (h *Host) finish() {
	h.stop()
	h.mu.Lock()
	for _, o := range h.orders {
		o.end(ErrClosed)
	}
	h.orders = nil
	h.mu.Unlock()
	h.running.Wait()
	h.settle() // what was answered since the last round
	close(h.events)
	h.engine.Close()
	if h.options.Ended != nil {
		h.options.Ended(h)
	}
}

// round applies every order once, and says how long the next one can wait.
func (h *Host) round() time.Duration {
	now := h.options.Clock.Now()
	idle := intervalsMax * h.options.Interval
	h.mu.Lock()
	for _, o := range h.orders {
		if o.done != nil { // a call counts until it returns
			h.calledAt, o.until = now, now.Add(idle)
		}
		if err := o.ctx.Err(); err != nil || now.After(o.until) {
			o.end(err)
		}
	}
	h.dropEnded()
	orders := slices.Clone(h.orders)
	left := len(orders) == 0 && h.reading == 0 && now.Sub(h.calledAt) > idle
	if left {
		h.stop() // with the lock: no call begins between the look and the end
	}
	h.mu.Unlock()
	if left {
		return 0
	}
	for _, o := range orders {
		h.pass(o)
	}
	h.rest(now)
	h.settle()
	return h.pause(idle)
}

// rest ends the watches of the pods on nodes that no order has had for three intervals after its call: without it the engine would go on
// wanting them, and nobody would make the pass that finds out otherwise. They outlive an order whose context has ended: where each call
// has a context of its own, the next call finds the pods.
func (h *Host) rest(now time.Time) {
	h.mu.Lock()
	var left []string
	for node, follower := range h.followers {
		for _, o := range h.orders {
			if o.nodes[node] && o.until.After(follower.until) {
				follower.until = o.until
			}
		}
		if now.After(follower.until) {
			left = append(left, node)
		}
	}
	h.mu.Unlock()
	if len(left) == 0 {
		return
	}
	names, _ := json.Marshal(left)
	found, err := h.engine.Apply(names, []byte(`{"autoUpgrade":false}`), now)
	if err != nil {
		return // a defect: the host ends
	}
	before := len(h.followers)
	h.follow(found, now)
	if len(h.followers) < before {
		h.ring() // the engine may have taken them for a part of an order: its next pass follows again what it needs
	}
}

func (h *Host) pause(longest time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.options.Clock.Now()
	wait := longest
	if due := h.calledAt.Add(longest).Sub(now) + pauseMin; len(h.orders) == 0 && (h.reading == 0 || due > 0) {
		wait = min(wait, due) // the end of the host
	}
	for _, follower := range h.followers {
		wait = min(wait, follower.until.Sub(now)+pauseMin)
	}
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
	names, policy, over, empty := o.names, o.policyNow(), o.ended || o.ctx.Err() != nil, len(o.nodes) == 0
	if empty {
		o.end()
		h.dropEnded()
	}
	if over || empty {
		h.mu.Unlock()
		return
	}
	h.passing = o
	h.mu.Unlock()
	now := h.options.Clock.Now()
	var found engine.Pass
	var err error
	if policy == nil {
		found, err = h.engine.Release(names, now)
	} else {
		found, err = h.engine.Apply(names, policy, now)
	}
	if err == nil && policy != nil {
		h.follow(found, o.until)
	}
	if o.begun == nil {
		h.settle() // a node may be in this pass because a request of an order before has just ended: that is no failure of this call's
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passing = nil
	if err != nil {
		if !isDefect(err) {
			h.log.Error(err, "the upgrade policy could not be applied")
		}
		o.end(err)
		h.dropEnded()
		return
	}
	due := h.logPass(o, found, now)
	o.wakeAt, _ = found.Wake()
	o.wakeAt = earliest(o.wakeAt, due)
	h.begin(o, found)
}

// begin has the nodes' requests sent. Those of the order's first pass are what its call waits for.
func (h *Host) begin(o *order, found engine.Pass) {
	first := o.begun == nil
	if first {
		o.begun, o.heard = map[string]bool{}, map[string]bool{}
	}
	// By the engine's word: the watch tells of a state some time after the answer that has told the engine.
	urgent, starts := map[string]bool{}, map[string]bool{}
	for _, plan := range found.Plans {
		starts[plan.Node] = !isInProgress(plan.State) && slices.ContainsFunc(plan.Path, isInProgress)
		urgent[plan.Node] = isInProgress(plan.State) || starts[plan.Node]
	}
	for _, node := range found.Work {
		if first {
			o.begun[node] = true
		}
		started := &task{order: o, node: node, starts: starts[node], urgent: urgent[node]}
		started.queued, started.withdraw = context.WithCancel(o.ctx)
		h.underWay[started] = true
		if o.void || (o.policy != nil && !o.nodes[node]) || (o.held != "" && started.starts) { // while the pass was made
			started.withdraw()
		}
		h.running.Go(func() { h.serve(started) })
	}
}

// unmarked is called after another client removed the node's state label. Operators whose upgrades are switched off remove the labels one
// node at a time, and do not call. So the whole order starts no further node before the next call. A node in progress continues, because
// it would stay cordoned otherwise. Any other node is left alone until a call names it.
func (h *Host) unmarked(node *corev1.Node) {
	started := h.options.Identity.hasStarted(node)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unmarking[node.Name] { // the engine removed it
		delete(h.unmarking, node.Name)
		return
	}
	for _, o := range h.orders {
		if o.policy == nil || !o.nodes[node.Name] {
			continue
		}
		if o.held == "" {
			o.held = fmt.Sprintf("another client removed the state label of node %s; no node starts before the next ApplyState", node.Name)
			h.log.Info("No further node starts before the next call: another client removed a state label", "node", node.Name)
		}
		if !started {
			delete(o.nodes, node.Name)
			o.name()
		}
	}
	for task := range h.underWay {
		left := task.node == node.Name && !started
		if task.order.policy != nil && (left || (task.starts && h.isHeld(task))) {
			task.withdraw()
		}
	}
}

// isHeld returns whether no further node of the task's order starts. The order may have been replaced since.
func (h *Host) isHeld(t *task) bool {
	return slices.ContainsFunc(h.orders, func(o *order) bool { return o.held != "" && (o == t.order || o.nodes[t.node]) })
}

// policyNow returns the policy to apply, nil to release the nodes.
func (o *order) policyNow() []byte {
	if o.held == "" || o.policy == nil {
		return o.policy
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(o.policy, &members); err != nil {
		return o.policy // the engine refuses it
	}
	members["paused"] = json.RawMessage("true")
	text, _ := json.Marshal(members)
	return text
}

// serve sends a node's requests one after the other. Once the order's context has ended they are all answered as not sent, so that the
// engine is done with them; once the task is withdrawn, those that have not had their turn yet.
func (h *Host) serve(t *task) {
	node := t.node
	defer func() {
		t.withdraw() // gives the context back
		h.mu.Lock()
		delete(h.underWay, t)
		if t.order.begun[node] {
			t.order.begun[node] = false
		}
		h.mu.Unlock()
		h.ring()
	}()
	ctx, cancel := context.WithCancel(t.order.ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	for sent := 0; ; sent++ {
		request, err := h.engine.Next(node, h.options.Clock.Now())
		if isDefect(err) || (err == nil && request.Verb == "") {
			return
		}
		told := answer{status: engine.NotSent, err: err}
		if err == nil {
			unmarks := h.unmarks(node, request)
			write := h.ownWriteOf(request)
			told = h.connection.send(ctx, t.queued, request, sent > 0 || t.urgent, write.sent)
			write.answered(told)
			// Without an answer, or after a server's error, it may have been applied.
			refused := told.status == engine.NotSent || (told.status >= 400 && told.status < 500)
			if unmarks && refused {
				h.mu.Lock()
				delete(h.unmarking, node)
				h.mu.Unlock()
			}
		}
		switch {
		case told.err == nil:
		case ctx.Err() != nil: // the operator goes
			h.log.V(1).Info("A request has no answer any more", "node", node, "verb", request.Verb, "target", request.Target)
		case t.queued.Err() != nil && told.status == engine.NotSent:
			h.hear(t.order, node) // the operator's own doing, and no failure
			h.log.V(1).Info("A request is not sent: the policy has changed", "node", node, "verb", request.Verb, "target", request.Target)
		default:
			h.log.Error(told.err, "a request was not answered", "node", node, "verb", request.Verb, "target", request.Target)
		}
		more, err := h.engine.Answer(node, told.status, told.retryAfter, told.body, h.options.Clock.Now())
		if err != nil || !more {
			return
		}
	}
}

// unmarks returns whether the request removes the node's state label, and notes it: the engine is the client that removes it then.
func (h *Host) unmarks(node string, request engine.Request) bool {
	if request.Verb != http.MethodPatch || !strings.Contains(request.Body, strconv.Quote(h.options.Identity.stateLabel())+":null") {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unmarking[node] = true
	return true
}

func isInProgress(state string) bool {
	switch state {
	case "", "unknown", "upgrade-required", "upgrade-done":
		return false
	}
	return true
}

// settle tells of what has happened: Events, the log, and the calls that wait. Those return whose requests are answered.
func (h *Host) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	settled, err := h.engine.Settle(h.options.Clock.Now())
	if err != nil {
		if !isDefect(err) {
			h.log.Error(err, "the outcome of the requests is not known")
		}
		return
	}
	for _, outcome := range settled.Outcomes {
		failure := fmt.Errorf("node %s: %s", outcome.Node, outcome.Message)
		if outcome.Code == 0 || outcome.Code == engine.CodeAborted { // aborted: somebody else was faster
			failure = nil
		}
		h.tellCalls(outcome.Node, failure)
		if outcome.Code == 0 {
			h.log.V(1).Info("Node's requests are answered", "node", outcome.Node, "patched", outcome.Patched, "evictions",
				outcome.EvictionsAccepted, "refused", outcome.EvictionsRefused, "podsDeleted", outcome.PodsDeleted)
			continue
		}
		h.log.Info("A request failed, and is planned again", "node", outcome.Node, "error", outcome.Message)
	}
	for _, event := range settled.Events {
		h.log.V(1).Info(event.Message, "node", event.Node, "type", event.Type)
		if h.options.Recorder == nil {
			continue
		}
		select {
		case h.events <- event:
		default:
			h.log.Info("An Event is dropped: the recorder does not take Events any more", "node", event.Node, "message", event.Message)
		}
	}
	for _, o := range h.orders {
		if !o.isAnswered() {
			continue
		}
		o.answer()
		if o.once {
			o.end()
		}
	}
	h.dropEnded()
}

// record has a goroutine of its own: a recorder that blocks holds up nothing but Events.
func (h *Host) record() {
	for event := range h.events {
		h.options.Recorder.Event(subjectOf(event), event.Type, event.Reason, event.Message)
	}
}

// isAnswered tells whether all that the first pass has begun is over.
func (o *order) isAnswered() bool {
	for _, underWay := range o.begun {
		if underWay {
			return false
		}
	}
	return o.begun != nil
}

// tellCalls of the first outcome on a node that they wait for. failure: nil if there is none.
func (h *Host) tellCalls(node string, failure error) {
	const most = 3
	for _, o := range h.orders {
		if _, waits := o.begun[node]; !waits || o.done == nil || o.heard[node] {
			continue
		}
		o.heard[node] = true
		if failure != nil && len(o.errors) < most {
			o.errors = append(o.errors, failure)
		}
	}
}

// hear closes a node to the order's call, which has no error of it.
func (h *Host) hear(o *order, node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.heard[node] = true
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
