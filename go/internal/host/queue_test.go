package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/util/flowcontrol"
)

// tokens is a limiter that admits one request for each token.
type tokens struct {
	flowcontrol.RateLimiter
	given chan struct{}
}

func (l tokens) Wait(ctx context.Context) error {
	select {
	case <-l.given:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestUrgentRequestsGoFirstExceptEveryFifth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := tokens{given: make(chan struct{})}
		q := newQueue(limiter, 2)
		var mu sync.Mutex
		var order []string
		wait := func(name string, urgent bool) {
			go func() {
				done, err := q.wait(t.Context(), urgent)
				if err != nil {
					t.Error(err)
					return
				}
				defer done()
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			}()
			synctest.Wait()
		}
		wait("first", false)
		wait("second", false)
		wait("third", false)
		for range 6 {
			wait("urgent", true)
		}
		for range 9 {
			limiter.given <- struct{}{}
			synctest.Wait()
		}
		want := []string{"urgent", "urgent", "urgent", "urgent", "first", "urgent", "urgent", "second", "third"}
		if !slices.Equal(order, want) {
			t.Errorf("the order is %q", order)
		}
	})
}

func TestACanceledWaitUsesNoTokenAndNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := tokens{given: make(chan struct{})}
		q := newQueue(limiter, 1)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := q.wait(ctx, false)
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		select {
		case limiter.given <- struct{}{}:
			t.Error("a token was taken for nobody")
		default:
		}
		go func() { limiter.given <- struct{}{} }()
		done, err := q.wait(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		done()
	})
}

func TestConcurrentRequestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, requests = 3, 10
		q := newQueue(nil, most)
		underWay, highest := 0, 0
		var mu sync.Mutex
		answers := make(chan struct{})
		for range requests {
			go func() {
				done, err := q.wait(t.Context(), false)
				if err != nil {
					t.Error(err)
					return
				}
				defer done()
				mu.Lock()
				underWay++
				highest = max(highest, underWay)
				mu.Unlock()
				<-answers
				mu.Lock()
				underWay--
				mu.Unlock()
			}()
		}
		for range requests {
			synctest.Wait()
			answers <- struct{}{}
		}
		synctest.Wait()
		if highest != most {
			t.Errorf("%d requests were under way at once", highest)
		}
	})
}
