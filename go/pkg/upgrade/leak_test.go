package upgrade

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"driverupgrade.example/go/internal/fakecluster"
)

// goroutines returns the stacks of the hosts' goroutines, including the goroutines of client-go. It omits idle
// connections, because all clients of a process share client-go's connections.
func goroutines() map[string]string {
	text := make([]byte, 16<<20)
	text = text[:runtime.Stack(text, true)]
	found := map[string]string{}
	for _, stack := range strings.Split(string(text), "\n\n") {
		ours := strings.Contains(stack, "driverupgrade.example/go/internal/host.") || strings.Contains(stack, "k8s.io/")
		if ours && !strings.Contains(stack, "k8s.io/klog") {
			id, _, _ := strings.Cut(stack, " [")
			found[id] = stack
		}
	}
	return found
}

// W43: the Manager ends in the middle of an upgrade, when the number of goroutines is highest.
func TestNoGoroutineIsLeftAfterAManagerHasEnded(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"by Close":                            func(w *world) { w.manager.Close() },
		"three intervals after the last call": func(w *world) { w.clock.Step(interval) },
	} {
		t.Run(name, func(t *testing.T) {
			before := goroutines()
			ctx, cancel := context.WithCancel(t.Context())
			w, _ := inDrain(t, ctx)
			running := func() map[string]string {
				now := goroutines()
				maps.DeleteFunc(now, func(id, _ string) bool { _, known := before[id]; return known })
				return now
			}
			if len(running()) == 0 {
				t.Fatal("no goroutine is recognized")
			}
			cancel()
			left := running()
			defer func() {
				if t.Failed() {
					t.Logf("left:\n%s", strings.Join(slices.Collect(maps.Values(left)), "\n\n"))
				}
			}()
			w.eventually("the end of all goroutines", func() bool {
				end(w)
				left = running()
				return len(left) == 0
			})
		})
	}
}

// W43: the interface that operators use has no Close, because operators implement the interface in their own tests.
func TestTheManagerOfTheOldInterfaceHasClose(t *testing.T) {
	w := newWorld(t, 1)
	manager, err := NewClusterUpgradeStateManager(logr.Discard(), w.cluster.Config(), nil, StateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	context.AfterFunc(ctx, manager.(*Manager).Close)
	cancel()
	w.eventually("the end of its watches", func() bool { return w.cluster.OpenWatches() == 0 })
}

// W43: Reconcile is called when the operator's context is already done.
func TestACallWhoseContextHasEndedStartsNoGoroutine(t *testing.T) {
	w := newWorld(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.manager.BuildState(ctx, fakecluster.Namespace, driverLabels); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if hosts := w.manager.allHosts(); len(hosts) > 0 {
		t.Errorf("%d hosts run", len(hosts))
	}
}
