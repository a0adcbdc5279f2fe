package upgrade

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/go-logr/logr"
	testclock "k8s.io/utils/clock/testing"

	"driverupgrade.example/go/internal/fakecluster"
)

const many = 5000

// newFleet has nodes that are done, and has been applied to once.
func newFleet(t testing.TB, nodes int) (*fakecluster.Cluster, *testclock.FakeClock, *Manager) {
	SetDriverName("gpu")
	cluster := fakecluster.New()
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		cluster.AddNode(name)
		cluster.SetLabel(name, GetUpgradeStateLabelKey(), UpgradeStateDone)
	}
	clock := testclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	manager, err := NewManager(logr.Discard(), cluster.Config(), nil, StateOptions{}, WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		manager.Close()
		cluster.Close()
	})
	return cluster, clock, manager
}

func pass(t testing.TB, manager *Manager) {
	state, err := manager.BuildState(context.Background(), fakecluster.Namespace, driverLabels)
	if err == nil {
		err = manager.ApplyState(context.Background(), state, policyOf(10))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnIdleHourOfManyNodesTakesNoRequestButWatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute under the race detector")
	}
	cluster, clock, manager := newFleet(t, many)
	pass(t, manager)
	before := cluster.Requests()
	for range 30 {
		clock.Step(2 * time.Minute)
		pass(t, manager)
	}
	for _, request := range cluster.Requests()[len(before):] {
		if !request.Watch {
			t.Errorf("%s %s", request.Verb, request.Path)
		}
	}
	if stats := manager.Stats(); stats.Total != many || stats.Done != many {
		t.Errorf("%+v", stats)
	}
}

// The pass alone: what BuildState waits for, the lists, depends on the server.
func BenchmarkFirstPass(b *testing.B) {
	const most = 300 * time.Millisecond
	for b.Loop() {
		b.StopTimer()
		_, _, manager := newFleet(b, many)
		state, err := manager.BuildState(context.Background(), fakecluster.Namespace, driverLabels)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := manager.ApplyState(context.Background(), state, policyOf(10)); err != nil {
			b.Fatal(err)
		}
	}
	if took := b.Elapsed() / time.Duration(b.N); took > most {
		b.Errorf("the first pass takes %v, and %v at most is what docs/go.md promises", took, most)
	}
}

// The operator's reconcile when nothing has changed.
func BenchmarkIdlePass(b *testing.B) {
	_, _, manager := newFleet(b, many)
	pass(b, manager)
	for b.Loop() {
		pass(b, manager)
	}
}

// What the manager holds, beside what the test's own API server does.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		_, _, manager := newFleet(b, many)
		before := heap()
		pass(b, manager)
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		manager.Close()
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
