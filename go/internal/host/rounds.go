package host

import (
	"cmp"
	"slices"
	"time"

	"driverupgrade.example/go/internal/engine"
)

// run makes a round whenever something has changed, or a round is due. A round checks all nodes, and changes come in
// bursts, so run pauses before the next round to collect changes. The pause grows with the duration of the round; in a
// small cluster, it is hardly noticeable. If changes arrive constantly, rounds of up to 12 ms use at most a fifth of a
// processor. Longer rounds use more, because the pause is at most 50 ms: rounds of 50 ms use half a processor. The
// operator's calls do not wait for the pause.
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

// gather waits for the duration of moment, but returns early if the operator makes a call. A ring of the bell in the
// meantime triggers the next round.
func (h *Host) gather(moment time.Duration) {
	timer := time.NewTimer(moment) // real time, because the clock of a test stands still
	defer timer.Stop()
	select {
	case <-h.ctx.Done():
	case <-h.ordered:
		h.ring() // replaces the signal that was received here
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
	h.settle() // reports the responses since the last round
	close(h.events)
	h.engine.Close()
	if h.options.Ended != nil {
		h.options.Ended(h)
	}
}

// round applies every order once, and returns how long the next round can wait.
func (h *Host) round() time.Duration {
	now := h.options.Clock.Now()
	idle := intervalsMax * h.options.Interval
	h.mu.Lock()
	for _, o := range h.orders {
		if o.done != nil { // a call that has not returned keeps the order alive
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
		h.stop() // with the lock, so that no call starts between the check and the end
	}
	h.mu.Unlock()
	if left {
		return 0
	}
	h.retryAt = time.Time{}
	for _, follower := range h.followers {
		h.retryAt = earliest(h.retryAt, follower.retry(now))
	}
	waits, reason := h.waits(now)
	if waits {
		h.answerWaiting(orders, reason)
	} else {
		for _, o := range orders {
			h.pass(o)
		}
		h.rest(now)
	}
	h.settle()
	return h.pause(idle, waits)
}

// waits reports whether no pass is made at this time. Until the nodes have been listed, the cluster may have been
// restored from a backup. If a watch has been failing for a minute, decisions and deadlines would rely on outdated
// objects: a node whose driver pod has become Ready would fail, for example. The reason is nil if no attempt to list
// has failed.
func (h *Host) waits(now time.Time) (waits bool, reason error) {
	stale := h.stale(now)
	if !h.nodes.isReady() {
		return true, cmp.Or(h.nodes.whyUnlisted(), stale)
	}
	return stale != nil, stale
}

// answerWaiting ends calls with the reason why no pass is made. The calls continue to wait if there is no reason.
func (h *Host) answerWaiting(orders []*order, err error) {
	if err == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range orders {
		o.answer(err)
	}
}

// apply makes a pass of the engine. If the engine still waits for objects although everything has been listed, the last
// node list has shown that the cluster was restored from a backup. apply then ends the host.
func (h *Host) apply(names, policy []byte, now time.Time) (engine.Pass, error) {
	found, err := h.engine.Apply(names, policy, now)
	if hasCode(err, engine.CodeUnavailable) && h.pods.isReady() && h.sets.isReady() && h.revisions.isReady() {
		h.endRestored()
		err = ErrClosed
	}
	return found, err
}

// rest ends the pod watches of nodes that have not been in an order for three intervals. Otherwise the engine would
// request these pods indefinitely, because no pass would drop them. The watches outlive an order whose context is done,
// so that the next call finds the pods even if each call has its own context.
func (h *Host) rest(now time.Time) {
	h.mu.Lock()
	left := map[string][]string{} // by owner
	for node, follower := range h.followers {
		for _, o := range h.orders {
			if o.nodes[node] && o.until.After(follower.until) {
				follower.until, follower.owner = o.until, o.owner
			}
		}
		if now.After(follower.until) {
			left[follower.owner] = append(left[follower.owner], node)
		}
	}
	h.mu.Unlock()
	for owner, nodes := range left {
		found, err := h.apply(engine.Part{Owner: owner, Names: nodes}.Text(), []byte(`{"autoUpgrade":false}`), now)
		if err != nil {
			return // the host ends
		}
		h.beginLedger(h.ctx, found)
		before := len(h.followers)
		h.follow(found, owner, now)
		if len(h.followers) < before {
			h.ring() // an order may still need these pods; its next pass then follows them again
		}
	}
}

// pause returns how long the next round can wait. waits: no pass is made before a watch works again, and then rings.
func (h *Host) pause(longest time.Duration, waits bool) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.options.Clock.Now()
	wait := longest
	if due := h.calledAt.Add(longest).Sub(now) + pauseMin; len(h.orders) == 0 && (h.reading == 0 || due > 0) {
		wait = min(wait, due) // when the host ends
	}
	for _, follower := range h.followers {
		if !waits {
			wait = min(wait, follower.until.Sub(now)+pauseMin)
		}
	}
	if !h.retryAt.IsZero() {
		wait = min(wait, h.retryAt.Sub(now))
	}
	for _, one := range h.healths() {
		if due := one.due(); due.After(now) { // the reason is then logged
			wait = min(wait, due.Sub(now))
		}
	}
	for _, o := range h.orders {
		wait = min(wait, o.until.Sub(now)+pauseMin)
		if !o.wakeAt.IsZero() && !waits {
			wait = min(wait, o.wakeAt.Sub(now))
		}
	}
	return max(wait, pauseMin)
}

// pass applies one order, and starts the requests that are due.
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
	} else if err = h.putTimeZones(policy, now); err == nil {
		found, err = h.apply(names, policy, now)
	}
	if err == nil && policy != nil {
		h.follow(found, o.owner, o.until)
	}
	if o.begun == nil {
		h.settle() // a request from an earlier order may just have failed; the call must not return that failure
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passing = nil
	if err != nil {
		if !isDefect(err) && !h.Closed() {
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
