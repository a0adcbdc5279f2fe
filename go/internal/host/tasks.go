package host

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"driverupgrade.example/go/internal/engine"
)

// task is the work that a pass has started for a node.
type task struct {
	order    *order
	node     string
	starts   bool            // the task starts an upgrade
	urgent   bool            // its requests start or continue an upgrade, which leaves workloads with one node fewer
	queued   context.Context // once it ends, requests still waiting for their turn are not sent
	withdraw context.CancelFunc
}

// begin starts sending the nodes' requests. The call that created the order waits for the requests of the order's first
// pass.
func (h *Host) begin(o *order, found engine.Pass) {
	first := o.begun == nil
	if first {
		o.begun, o.heard = map[string]bool{}, map[string]bool{}
	}
	// Use the engine's states, because the engine receives the response before the watch shows the change.
	urgent, starts := map[string]bool{}, map[string]bool{}
	for _, plan := range found.Plans {
		starts[plan.Node] = !isInProgress(plan.State) && slices.ContainsFunc(plan.Path, isInProgress)
		urgent[plan.Node] = isInProgress(plan.State) || starts[plan.Node]
	}
	h.beginLedger(o.ctx, found)
	for _, node := range found.Work {
		if node == engine.LedgerWork {
			continue
		}
		if first {
			o.begun[node] = true
		}
		started := &task{order: o, node: node, starts: starts[node], urgent: urgent[node]}
		started.queued, started.withdraw = context.WithCancel(o.ctx)
		h.underWay[started] = true
		if o.void || (o.policy != nil && !o.nodes[node]) || (o.held != "" && started.starts) { // the order changed during the pass
			started.withdraw()
		}
		h.running.Go(func() { h.serve(started) })
	}
}

// serve sends a node's requests in sequence. Once the order's context is done, serve reports all remaining requests as
// not sent, so that the engine can finish its plan for the node. Once the task has been withdrawn, serve does the same
// for requests that still wait for their turn.
func (h *Host) serve(t *task) {
	node := t.node
	defer func() {
		t.withdraw() // releases the context
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
			// Without a response, or after a server error, the request may have been applied.
			refused := told.status == engine.NotSent || (told.status >= 400 && told.status < 500)
			if unmarks && refused {
				h.mu.Lock()
				delete(h.unmarking, node)
				h.mu.Unlock()
			}
		}
		switch {
		case told.err == nil:
		case ctx.Err() != nil: // the operator is stopping
			h.log.V(1).Info("a request got no response, because the operator is stopping", "node", node, "verb", request.Verb, "target", request.Target)
		case t.queued.Err() != nil && told.status == engine.NotSent:
			h.hear(t.order, node) // caused by the operator, so it is not a failure
			h.log.V(1).Info("a request was not sent, because the policy has changed", "node", node, "verb", request.Verb, "target", request.Target)
		default:
			h.log.Error(told.err, "a request got no response", "node", node, "verb", request.Verb, "target", request.Target)
		}
		more, err := h.engine.Answer(node, told.status, told.retryAfter, told.body, h.options.Clock.Now())
		if err != nil || !more {
			return
		}
	}
}

// beginLedger starts sending the ledger's requests if the pass has any. It must be called for every pass, because the
// engine announces these requests only once.
func (h *Host) beginLedger(ctx context.Context, found engine.Pass) {
	if slices.Contains(found.Work, engine.LedgerWork) {
		h.running.Go(func() { h.serveLedger(ctx) })
	}
}

// serveLedger sends the ledger's requests in sequence until ctx is done, and then triggers a round, which uses the
// changes that these requests made.
func (h *Host) serveLedger(ctx context.Context) {
	defer h.ring()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	for {
		request, err := h.engine.Next(engine.LedgerWork, h.options.Clock.Now())
		if isDefect(err) || (err == nil && request.Verb == "") {
			return
		}
		told := answer{status: engine.NotSent, err: err}
		if err == nil {
			told = h.connection.send(ctx, ctx, request, true, func() {})
		}
		if told.err != nil && ctx.Err() == nil {
			h.log.Error(told.err, "a ledger request got no response", "verb", request.Verb, "target", request.Target)
		}
		more, err := h.engine.Answer(engine.LedgerWork, told.status, told.retryAfter, told.body, h.options.Clock.Now())
		if err != nil || !more {
			return
		}
	}
}

// unmarks reports whether the request removes the node's state label. It records such a request, so that the removal is
// attributed to the engine.
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

// settle reports the outcomes of requests as Events, in the log, and to waiting calls. A call returns once all its
// requests have responses.
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
		h.lateHolders.Add(int64(outcome.LateHoldersEvicted))
		h.podsKept.Add(int64(outcome.PodsKept))
		failure := fmt.Errorf("node %s: %s", outcome.Node, outcome.Message)
		if outcome.Code == 0 || outcome.Code == engine.CodeAborted { // aborted: another client was faster
			failure = nil
		}
		h.tellCalls(outcome.Node, failure)
		if outcome.Code == 0 {
			h.log.V(1).Info("all requests for a node have received responses", "node", outcome.Node, "patched", outcome.Patched, "evictions",
				outcome.EvictionsAccepted, "refused", outcome.EvictionsRefused, "podsDeleted", outcome.PodsDeleted)
			continue
		}
		h.log.Info("a request failed; the engine will plan it again", "node", outcome.Node, "error", outcome.Message)
	}
	for _, event := range settled.Events {
		h.log.V(1).Info(event.Message, "node", event.Node, "type", event.Type)
		if h.options.Recorder == nil {
			continue
		}
		select {
		case h.events <- event:
		default:
			h.log.Info("an Event was dropped, because the recorder does not accept more Events", "node", event.Node, "message", event.Message)
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

// record passes Events to the recorder. It runs in its own goroutine, so that a recorder that blocks delays only Events.
func (h *Host) record() {
	for event := range h.events {
		h.options.Recorder.Event(subjectOf(event), event.Type, event.Reason, event.Message)
	}
}

// isAnswered reports whether all requests of the first pass have received responses.
func (o *order) isAnswered() bool {
	for _, underWay := range o.begun {
		if underWay {
			return false
		}
	}
	return o.begun != nil
}

// tellCalls reports the first outcome for a node to the calls that wait for the node. failure is nil after a success.
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

// hear marks a node as finished for the order's call, without an error.
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
