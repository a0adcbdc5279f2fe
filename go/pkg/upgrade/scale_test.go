package upgrade

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/fakecluster"
)

const many = 5000

// newFleet creates a cluster whose nodes are done with the newest driver, and a Manager that has made no call yet.
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

func TestAnIdleHourNeedsNoRequestsExceptWatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute under the race detector")
	}
	cluster, clock, manager := newFleet(t, many)
	pass(t, manager)
	watching := func(begun int) { // waits until this many watches have been started, and exactly four are still open
		watches := func() (watches int) {
			for _, request := range cluster.Requests() {
				if request.Watch {
					watches++
				}
			}
			return watches
		}
		for deadline := time.Now().Add(patience); watches() < begun || cluster.OpenWatches() != 4; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d watches were begun, %d are open", watches(), cluster.OpenWatches())
			}
		}
	}
	begun := 4
	watching(begun)
	before := len(cluster.Requests())
	for i := range 30 {
		clock.Step(2 * time.Minute)
		if i%3 == 0 { // servers end each watch after five to ten minutes
			cluster.EndWatches()
			begun += 4
			watching(begun)
		}
		pass(t, manager)
	}
	requests := cluster.Requests()[before:]
	for _, request := range requests {
		if request.IsList() || request.Verb != http.MethodGet {
			t.Errorf("%+v", request)
		}
	}
	if len(requests) != 10*4 {
		t.Errorf("%d watches were begun", len(requests))
	}
	if stats := manager.Stats(); stats.Total != many || stats.Done != many {
		t.Errorf("%+v", stats)
	}
}

// If all nodes start at once, the Manager needs the pods of all of them. A watch on the pods of each node would be one
// connection per node.
func TestAllNodesAtOnceShareOneWatchOnPods(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute under the race detector")
	}
	cluster, _, manager := newFleet(t, many)
	apply := func() {
		state, err := manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels)
		if err == nil {
			err = manager.ApplyState(t.Context(), state, policyOf(0))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	apply()
	cluster.NewDriver()
	before, began, open := len(cluster.Requests()), time.Now(), 0
	for manager.Stats().Done < many || cluster.Revision("n0") != "hash-2" {
		apply()
		open = max(open, cluster.OpenWatches())
		if time.Since(began) > patience {
			t.Fatalf("%+v", manager.Stats())
		}
		<-time.After(200 * time.Millisecond) // meanwhile, the nodes change
	}
	pods, writes := 0, 0
	for _, request := range cluster.Requests()[before:] {
		switch {
		case request.Verb != http.MethodGet:
			writes++
		case request.Path == "/api/v1/pods":
			pods++
		}
	}
	t.Logf("%v for %d nodes: %d writes, %d lists and watches on pods; at most %d watches were open", time.Since(began), many, writes, pods, open)
	if pods > many/20 || open > 20 || writes != 4*many {
		t.Errorf("%d lists and watches on pods, %d open watches, %d writes", pods, open, writes)
	}
}

// timed is an engine that adds up the durations of its calls.
type timed struct {
	engine.Engine
	*times
}

type times struct{ put, read, apply atomic.Int64 }

func since(total *atomic.Int64, began time.Time) { total.Add(int64(time.Since(began))) }

func (e timed) Put(kind engine.Kind, list []byte) error {
	defer since(&e.put, time.Now())
	return e.Engine.Put(kind, list)
}

func (e timed) WatchLine(kind engine.Kind, line []byte) error {
	defer since(&e.put, time.Now())
	return e.Engine.WatchLine(kind, line)
}

func (e timed) Read(now time.Time) (engine.Reading, error) {
	defer since(&e.read, time.Now())
	return e.Engine.Read(now)
}

func (e timed) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	defer since(&e.apply, time.Now())
	return e.Engine.Apply(nodes, policy, now)
}

// BenchmarkFirstPass measures the work of the engine up to the end of the first pass over all nodes: the engine
// receives and reads the lists, and plans. The server provides the lists and responds to the pass's requests.
func BenchmarkFirstPass(b *testing.B) {
	for name, outdated := range map[string]bool{"current": false, "outdated": true} {
		b.Run(name, func(b *testing.B) { firstPass(b, outdated) })
	}
}

func firstPass(b *testing.B, outdated bool) {
	var sum times
	for b.Loop() {
		cluster, _, manager := newFleet(b, many)
		if outdated {
			cluster.NewDriver()
		}
		made := new(times)
		manager.options.Engine = func(options engine.Options) (engine.Engine, error) {
			inner, err := engine.New(options)
			return timed{inner, made}, err
		}
		state, err := manager.BuildState(context.Background(), fakecluster.Namespace, driverLabels)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		applied := make(chan error, 1)
		go func() { applied <- manager.ApplyState(ctx, state, policyOf(10)) }()
		for made.apply.Load() == 0 {
			select {
			case err := <-applied:
				if made.apply.Load() == 0 {
					b.Fatalf("no pass: %v", err)
				}
				applied <- err
			case <-time.After(time.Millisecond):
			}
		}
		cancel() // the pass's requests do not count
		<-applied
		sum.put.Add(made.put.Load())
		sum.read.Add(made.read.Load())
		sum.apply.Add(made.apply.Load())
		manager.Close()
	}
	for unit, total := range map[string]int64{"put-ms": sum.put.Load(), "read-ms": sum.read.Load(), "apply-ms": sum.apply.Load()} {
		b.ReportMetric(float64(total)/float64(b.N)/float64(time.Millisecond), unit)
	}
}

// BenchmarkIdlePass measures the operator's reconcile when nothing has changed.
func BenchmarkIdlePass(b *testing.B) {
	_, _, manager := newFleet(b, many)
	pass(b, manager)
	for b.Loop() {
		pass(b, manager)
	}
}

const serverVariable = "DRIVERUPGRADE_MEMORY_SERVER"

// BenchmarkMemory measures the memory of a separate process: an operator that has applied a policy to 5,000 nodes of 10
// kB each.
func BenchmarkMemory(b *testing.B) {
	SetDriverName("gpu")
	cluster := fakecluster.New()
	defer cluster.Close()
	for i := range many {
		name := fmt.Sprintf("n%d", i)
		cluster.AddKubeletNode(name)
		cluster.SetLabel(name, GetUpgradeStateLabelKey(), UpgradeStateDone)
	}
	for b.Loop() {
		operator := exec.Command(os.Args[0], "-test.run", "^TestTheMemoryOfAnOperator$", "-test.v")
		operator.Env = append(os.Environ(), serverVariable+"="+cluster.Config().Host)
		text, err := operator.CombinedOutput()
		if err != nil {
			b.Fatalf("%v: %s", err, text)
		}
		for _, line := range strings.Split(string(text), "\n") {
			var name string
			var size float64
			if found, _ := fmt.Sscanf(line, "memory %s %f", &name, &size); found == 2 {
				b.ReportMetric(size, name+"-MiB")
			}
		}
	}
	b.ReportMetric(float64(cluster.Size("n0"))/1000, "kB/node")
}

// TestTheMemoryOfAnOperator is the operator whose memory BenchmarkMemory measures.
func TestTheMemoryOfAnOperator(t *testing.T) {
	server := os.Getenv(serverVariable)
	if server == "" {
		t.Skip("BenchmarkMemory runs it")
	}
	SetDriverName("gpu")
	manager, err := NewManager(logr.Discard(), &rest.Config{Host: server, QPS: -1}, nil, StateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	fmt.Println("memory empty", resident(t, "VmRSS:"))
	for range 5 {
		pass(t, manager)
		time.Sleep(time.Second)
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Println("memory heap", float64(stats.HeapAlloc)/(1<<20))
	fmt.Println("memory peak", resident(t, "VmHWM:"))
	fmt.Println("memory RSS", resident(t, "VmRSS:"))
	debug.FreeOSMemory()
	fmt.Println("memory least", resident(t, "VmRSS:"))
}

// resident returns a value that Linux reports about this process, in MiB.
func resident(t *testing.T, line string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("measured on Linux only")
	}
	_, rest, _ := strings.Cut(string(text), line)
	var size float64
	_, _ = fmt.Sscan(rest, &size)
	return size / 1024
}

// BenchmarkBurst changes a thousand nodes at the same time, and measures the cost in passes over all nodes.
func BenchmarkBurst(b *testing.B) {
	const burst = 1000
	cluster, _, manager := newFleet(b, many)
	counts := new(counts)
	manager.options.Engine = func(options engine.Options) (engine.Engine, error) {
		made, err := engine.New(options)
		return observed{made, counts}, err
	}
	pass(b, manager)
	rounds := 0
	before, used := counts.passes.Load(), processorTime()
	for b.Loop() {
		rounds++
		value := fmt.Sprint(rounds)
		for i := range burst {
			cluster.SetLabel(fmt.Sprintf("n%d", i), "round", value)
		}
		for seen := false; !seen; time.Sleep(time.Millisecond) {
			state, err := manager.BuildState(context.Background(), fakecluster.Namespace, driverLabels)
			if err != nil {
				b.Fatal(err)
			}
			seen = slices.ContainsFunc(state.NodeStates[UpgradeStateDone], func(node *NodeUpgradeState) bool {
				return node.Node.Name == fmt.Sprintf("n%d", burst-1) && node.Node.Labels["round"] == value
			})
		}
	}
	b.ReportMetric(float64(counts.passes.Load()-before)/float64(rounds), "passes/op")
	b.ReportMetric((processorTime()-used).Seconds()/float64(rounds), "cpu-s/op")
}

func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
