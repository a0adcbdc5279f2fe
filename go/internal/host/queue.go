package host

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/util/flowcontrol"
)

// queue gives requests their turns: at the limiter's rate, so many at once, and those of nodes in progress before the others, which have
// every fifth turn. Nobody has a turn before its time has come, so that whoever comes while others wait for the limiter can still go before
// them.
type queue struct {
	limiter flowcontrol.RateLimiter // nil: no limit
	slots   chan struct{}           // requests under way

	mu      sync.Mutex
	urgent  []*turn
	others  []*turn
	row     int                // turns of the urgent while others have waited
	serving bool               // a goroutine gives turns, as somebody waits
	forget  context.CancelFunc // ends its wait for the limiter
}

const rowMax = 4

// turn is told once: nil, or why there is none.
type turn chan error

func newQueue(limiter flowcontrol.RateLimiter, most int) *queue {
	return &queue{limiter: limiter, slots: make(chan struct{}, most), forget: func() {}}
}

// wait returns when the request may be sent; done is to be called after its answer.
func (q *queue) wait(ctx context.Context, urgent bool) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mine := make(turn, 1)
	q.mu.Lock()
	of := &q.others
	if urgent {
		of = &q.urgent
	}
	*of = append(*of, &mine)
	if !q.serving {
		q.serving = true
		go q.serve()
	}
	q.mu.Unlock()
	select {
	case err := <-mine:
		return q.free, err
	case <-ctx.Done():
	}
	q.leave(&mine)
	select {
	case err := <-mine: // its turn had come meanwhile, and is nobody else's
		if err == nil {
			q.free()
		}
	default:
	}
	return nil, ctx.Err()
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.urgent) + len(q.others)
}

func (q *queue) free() { <-q.slots }

// leave takes one out that waits no more. If nobody is left, nobody waits for the limiter either.
func (q *queue) leave(gone *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	is := func(one *turn) bool { return one == gone }
	q.urgent, q.others = slices.DeleteFunc(q.urgent, is), slices.DeleteFunc(q.others, is)
	if len(q.urgent)+len(q.others) == 0 {
		q.forget()
	}
}

// serve gives turns until nobody waits.
func (q *queue) serve() {
	for {
		q.slots <- struct{}{}
		idle, err := q.limit()
		if idle {
			q.free()
			return
		}
		q.mu.Lock()
		next := q.first()
		if next == nil {
			q.serving = false
			q.mu.Unlock()
			q.free()
			return
		}
		if err != nil {
			q.free()
		}
		*next <- err
		q.mu.Unlock()
	}
}

// first takes out whose turn it is; nil: nobody waits. The caller has the lock.
func (q *queue) first() (next *turn) {
	of := &q.urgent
	switch {
	case len(q.others) == 0:
		q.row = 0
	case len(q.urgent) == 0 || q.row == rowMax:
		of, q.row = &q.others, 0
	default:
		q.row++
	}
	if len(*of) == 0 {
		return nil
	}
	next, *of = (*of)[0], (*of)[1:]
	return next
}

// limit waits for the limiter, as long as anybody waits. idle: nobody does, and whoever comes now begins to serve: without a token there is
// no turn.
func (q *queue) limit() (idle bool, err error) {
	if q.limiter == nil {
		return false, nil
	}
	for {
		ctx, forget := context.WithCancel(context.Background())
		q.mu.Lock()
		q.forget = forget
		idle := len(q.urgent)+len(q.others) == 0
		if idle {
			q.serving = false
		}
		q.mu.Unlock()
		if idle {
			forget()
			return true, nil
		}
		err := q.limiter.Wait(ctx)
		given := ctx.Err() == nil
		forget()
		if given || err == nil {
			return false, err
		}
	}
}
