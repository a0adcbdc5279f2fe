package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// trouble is the reason why the last call for these nodes, or the last pass over them, failed.
type trouble struct {
	nodes map[string]bool
	until time.Time // after three intervals without a call, it is not known whether the reason still exists
	err   error
}

// Refuse records that a call for this part failed before the host received it.
func (h *Host) Refuse(part Part, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addTrouble(part.all(), err)
}

func (h *Host) addTrouble(nodes map[string]bool, err error) {
	h.dropTroubles(nodes)
	h.troubles = append(h.troubles, trouble{nodes: nodes, err: err, until: h.options.Clock.Now().Add(intervalsMax * h.options.Interval)})
}

// dropTroubles forgets the troubles with one of these nodes, and troubles without any node.
func (h *Host) dropTroubles(nodes map[string]bool) {
	h.troubles = slices.DeleteFunc(h.troubles, func(one trouble) bool {
		for node := range one.nodes {
			if nodes[node] {
				return true
			}
		}
		return len(one.nodes) == 0
	})
}

// noteFailure records why the pass of an order failed. An order can also end for other reasons, which are not failures.
func (h *Host) noteFailure(o *order) {
	err := o.failure
	if err == nil || errors.Is(err, ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	h.addTrouble(o.nodes, err)
}

// LastError returns the reasons why the last calls and passes failed, and why objects could not be listed. It returns an
// empty text if everything succeeded.
func (h *Host) LastError() string {
	now := h.options.Clock.Now()
	var reasons []string
	add := func(err error) {
		if err != nil && !slices.Contains(reasons, err.Error()) {
			reasons = append(reasons, err.Error())
		}
	}
	h.mu.Lock()
	for _, one := range h.troubles {
		if !now.After(one.until) {
			add(one.err)
		}
	}
	h.mu.Unlock()
	add(h.nodes.whyUnlisted())
	add(h.pods.whyUnlisted())
	add(h.sets.whyUnlisted())
	add(h.revisions.whyUnlisted())
	if h.maintenances != nil {
		add(h.maintenances.whyUnlisted())
	}
	return strings.Join(reasons, "; ")
}
