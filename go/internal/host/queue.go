package host

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/util/flowcontrol"
)

// queue assigns turns to requests at the limiter's rate, and limits the number of concurrent requests. Urgent requests
// go first, but other requests get every fifth turn. A turn is assigned only when it is due, so that an urgent request
// can still overtake other requests that wait for the limiter.
type queue struct {
	limiter flowcontrol.RateLimiter // nil: no limit
	slots   chan struct{}           // one element for each concurrent request

	mu      sync.Mutex
	urgent  []*turn
	others  []*turn
	row     int                // consecutive turns of urgent requests while others were waiting
	serving bool               // a goroutine is assigning turns, because a request is waiting
	forget  context.CancelFunc // ends that goroutine's wait for the limiter
}

const rowMax = 4

// turn receives exactly one value: nil when the request may be sent, or the reason why it cannot be sent.
type turn chan error

func newQueue(limiter flowcontrol.RateLimiter, most int) *queue {
	return &queue{limiter: limiter, slots: make(chan struct{}, most), forget: func() {}}
}

// wait returns when the request may be sent. The caller must call done after the response.
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
	case err := <-mine: // the turn was assigned in the meantime: free its slot
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

// leave removes a request that no longer waits. If no request is left, leave also ends the wait for the limiter.
func (q *queue) leave(gone *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	is := func(one *turn) bool { return one == gone }
	q.urgent, q.others = slices.DeleteFunc(q.urgent, is), slices.DeleteFunc(q.others, is)
	if len(q.urgent)+len(q.others) == 0 {
		q.forget()
	}
}

// serve assigns turns while requests wait.
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

// first removes and returns the request whose turn it is, or returns nil if no request waits. The caller holds the
// lock.
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

// limit waits for a token from the limiter while any request is waiting. It returns idle once no request is waiting;
// the next request then starts serve again. It returns an error if the limiter provides no token.
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
