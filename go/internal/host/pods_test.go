package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// filter counts its calls, and fails for the pod with the name `fails`.
type filter struct {
	mu    sync.Mutex
	calls map[string]int // by name
	fails string
}

func (f *filter) usesDriver(pod corev1.Pod) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[pod.Name]++
	if pod.Name == f.fails {
		return false, errors.New("the claim cannot be read")
	}
	return strings.HasPrefix(pod.Name, "uses"), nil
}

// named returns the calls for pods other than driver pods, and forgets them.
func (f *filter) named() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.calls
	f.calls = map[string]int{}
	maps.DeleteFunc(found, func(name string, _ int) bool { return strings.HasPrefix(name, "driver-") })
	return found
}

func TestTheFilterRunsOncePerVersionOfAPod(t *testing.T) {
	for _, nodes := range []int{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			f := &filter{calls: map[string]int{}}
			w := newPodWorld(t, nodes, Options{UsesDriver: f.usesDriver})
			defer w.end()
			node := nodeName(0)
			w.add(node, "uses-0")
			w.needs(nodes)
			if calls := f.named(); calls["first-0"] != 1 || calls["uses-0"] != 1 {
				t.Errorf("%d nodes: calls at the start: %v", nodes, calls)
			}
			w.add(node, "other")
			w.settles()
			w.void(node, 0)
			w.cluster.MissedByWatches(func() { w.add(node, "missed") })
			w.settles()
			w.remove(node)
			w.settles()
			if calls := f.named(); !maps.Equal(calls, map[string]int{"other": 1, "missed": 1}) {
				t.Errorf("%d nodes: calls after changes: %v", nodes, calls)
			}
			w.check("after the changes")
			if uids := w.uses[node].UIDs; len(uids) != 1 {
				t.Errorf("%d nodes: %v use the driver", nodes, uids)
			}
			w.needs(0)
		})
	}
}

func TestTheFilterRunsAgainAfterAnError(t *testing.T) {
	t.Run("quiet", func(t *testing.T) { runAgainAfterAnError(t, false) })
	t.Run("busy", func(t *testing.T) { runAgainAfterAnError(t, true) })
}

// runAgainAfterAnError also adds a pod to the node every second if busy is true. The pauses must stay the same.
func runAgainAfterAnError(t *testing.T, busy bool) {
	synctest.Test(t, func(t *testing.T) {
		f := &filter{calls: map[string]int{}, fails: "first-0"}
		w := newPodWorld(t, 1, Options{UsesDriver: f.usesDriver})
		defer w.end()
		w.need(nodeName(0))
		w.ring()
		time.Sleep(time.Second)
		began := time.Now()
		of := func() (uids, failed int) {
			w.interest.mu.Lock()
			defer w.interest.mu.Unlock()
			uses := w.uses[nodeName(0)]
			return len(uses.UIDs), len(uses.Errors)
		}
		if uids, failed := of(); uids != 0 || failed != 1 || f.named()["first-0"] != 1 {
			t.Errorf("%d pods use the driver, %d errors", uids, failed)
		}
		var pauses []time.Duration
		for range 6 {
			for f.named()["first-0"] == 0 {
				if busy {
					w.add(nodeName(0), fmt.Sprintf("other-%d", time.Now().Unix()))
				}
				time.Sleep(time.Second)
			}
			pauses = append(pauses, time.Since(began).Round(5*time.Second))
			began = time.Now()
		}
		if want := []time.Duration{5, 10, 20, 40, 60, 60}; !slices.EqualFunc(pauses, want, func(a, b time.Duration) bool { return a == b*time.Second }) {
			t.Errorf("pauses of %v", pauses)
		}
		f.mu.Lock()
		f.fails = ""
		f.mu.Unlock()
		time.Sleep(2 * filterRetryMax)
		if uids, failed := of(); uids != 0 || failed != 0 {
			t.Errorf("%d pods use the driver, %d errors", uids, failed)
		}
		if calls := f.named()["first-0"]; calls != 1 {
			t.Errorf("%d calls after the last error", calls)
		}
		w.check("after the last error")
	})
}

func TestAFilterThatBlocksDelaysOnlyItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocks := make(chan struct{})
		w := newPodWorld(t, 20, Options{UsesDriver: func(pod corev1.Pod) (bool, error) {
			if pod.Name == "first-0" {
				<-blocks
			}
			return false, nil
		}})
		defer w.end()
		w.needs(20)
		if known := len(w.interest.pods); known != 19 {
			t.Errorf("the pods of %d nodes are known", known)
		}
		w.void(nodeName(0), 0) // the rounds check whether the pods must be listed again
		w.settles()
		w.add(nodeName(1), "later")
		w.settles()
		if pods := w.interest.pods[nodeName(1)]; len(pods) != 2 {
			t.Errorf("a later change is missing: %v", pods)
		}
		close(blocks)
		w.settles()
		w.check("at the end")
	})
}
