package upgrade

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/fakecluster"
)

// tokens is a rate limiter that each test controls: a request waits until it receives a token. Once tokens is closed,
// every request receives a token.
type tokens chan struct{}

func (c tokens) Wait(ctx context.Context) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
func (c tokens) Accept()         { <-c }
func (c tokens) TryAccept() bool { return false }
func (c tokens) Stop()           {}
func (c tokens) QPS() float32    { return 1 }

// observed is an engine that counts its calls.
type observed struct {
	engine.Engine
	*counts
}

type counts struct{ begun, asked, notSent, settled, passes atomic.Int64 }

func (e observed) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	e.passes.Add(1)
	pass, err := e.Engine.Apply(nodes, policy, now)
	e.begun.Add(int64(len(pass.Work)))
	return pass, err
}

func (e observed) Next(node string, now time.Time) (engine.Request, error) {
	request, err := e.Engine.Next(node, now)
	e.asked.Add(1)
	return request, err
}

func (e observed) Settle(now time.Time) (engine.Settled, error) {
	defer e.settled.Add(1)
	return e.Engine.Settle(now)
}

func (e observed) Answer(node string, status int, retryAfter time.Duration, body []byte, now time.Time) (bool, error) {
	if status == engine.NotSent {
		defer e.notSent.Add(1)
	}
	return e.Engine.Answer(node, status, retryAfter, body, now)
}

// observe counts the calls of the world's engine.
func (w *world) observe() *counts {
	of := new(counts)
	w.manager.options.Engine = func(options engine.Options) (engine.Engine, error) {
		made, err := engine.New(options)
		return observed{made, of}, err
	}
	return of
}

// outdated returns a world whose nodes are done with revision 1 although revision 2 has been released. The Manager has
// made no call yet, and the returned tokens limit its requests.
func outdated(t *testing.T, nodes int) (*world, tokens) {
	w := newWorld(t, 0)
	for i := range nodes {
		w.nodes = append(w.nodes, fmt.Sprintf("n%d", i))
		w.cluster.AddNode(w.nodes[i])
		w.cluster.SetLabel(w.nodes[i], GetUpgradeStateLabelKey(), UpgradeStateDone)
	}
	w.cluster.NewDriver()
	config, rate := w.cluster.Config(), make(tokens)
	config.RateLimiter = rate
	w.manage(setup{config: config})
	return w, rate
}

// feed provides tokens until the call returns, and returns their number.
func (w *world) feed(rate tokens, call func() error) (given int, err error) {
	w.t.Helper()
	returned := make(chan error, 1)
	go func() { returned <- call() }()
	deadline := time.After(patience)
	for {
		select {
		case rate <- struct{}{}:
			given++
		case err := <-returned:
			return given, err
		case <-deadline:
			w.t.Fatalf("the call has not returned after %d requests", given)
		}
	}
}

func TestACallWaitsForItsFirstPassAndNotForTheRollout(t *testing.T) {
	const nodes = 200
	w, rate := outdated(t, nodes)
	var state *ClusterUpgradeState
	if _, err := w.feed(rate, func() (err error) {
		state, err = w.manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// The first pass sends one request per node, and a whole rollout sends eight. During the first pass, up to ten
	// nodes at a time already continue their upgrade.
	given, err := w.feed(rate, func() error { return w.manager.ApplyState(t.Context(), state, policyOf(10)) })
	if err != nil {
		t.Fatal(err)
	}
	if most := 2 * nodes; given < nodes || given > most {
		t.Errorf("the call has waited for %d requests, %d to %d are those of its first pass", given, nodes, most)
	}
	close(rate)
	w.awaitEnd()
}

func TestAPolicyChangeDropsQueuedRequests(t *testing.T) {
	const nodes = 100
	w, rate := outdated(t, nodes)
	counts := w.observe()
	var state *ClusterUpgradeState
	if _, err := w.feed(rate, func() (err error) {
		state, err = w.manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() { first <- w.manager.ApplyState(t.Context(), state, policyOf(10)) }()
	w.eventually("the first pass", func() bool { return counts.begun.Load() > 0 })
	// No request gets a token. The policy that switches upgrades off needs no token.
	if err := w.manager.ApplyState(t.Context(), state, &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: false}); err != nil {
		t.Error(err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	w.eventually("the end of what has waited", func() bool { return counts.notSent.Load() == counts.begun.Load() })
	close(rate)
	if sent := w.cluster.Writes(); sent > 0 {
		t.Errorf("%d requests were sent", sent)
	}
}

// Many waiting nodes need marks, but the upgrade of the node in progress must not wait for them.
func TestTheRequestsOfNodesInProgressGoFirst(t *testing.T) {
	const nodes = 60
	w, rate := outdated(t, nodes)
	w.cluster.SetLabel("n0", GetUpgradeStateLabelKey(), UpgradeStatePodRestartRequired)
	state := w.build(t.Context())
	applied := make(chan error, 1)
	go func() { applied <- w.manager.ApplyState(t.Context(), state, policyOf(1)) }()
	restarted := func() bool { return w.cluster.Revision("n0") == "hash-2" }
	others := func() (others int) {
		for _, request := range w.cluster.Requests() {
			if request.Verb != http.MethodGet && request.Path != "/api/v1/nodes/n0" && request.Verb != http.MethodDelete {
				others++
			}
		}
		return others
	}
	given := 0
	for ; ; given++ { // repeats until some marks have been written and the driver of the node has been restarted
		w.eventually("a request of each node that is not marked", func() bool {
			return restarted() || w.manager.connection.Waiting() == nodes-others()
		})
		if restarted() {
			break
		}
		rate <- struct{}{}
		w.eventually("the request", func() bool { return w.cluster.Writes() > given })
	}
	if most := given / 5; given > 6 || others() > most { // the other nodes get every fifth turn
		t.Errorf("%d of %d requests were for other nodes, at most %d expected", others(), given, most)
	}
	close(rate)
	if err := <-applied; err != nil {
		t.Error(err)
	}
}

// If the cordons came later, a pod evicted from one of the first nodes could move to a node that is cordoned
// afterwards, and would be evicted again. Although the engine knows the responses to its patches before the watches
// report the changes, further requests for the first nodes must wait until the other nodes are cordoned.
func TestNodesThatStartAtOnceAreCordonedBeforePodsAreEvicted(t *testing.T) {
	const nodes = 40
	w, rate := outdated(t, nodes)
	for i, node := range w.nodes {
		w.cluster.AddWorkload(fmt.Sprintf("work-%d", i), node)
	}
	state := w.build(t.Context())
	w.cluster.HoldWatches("nodes")
	applied := make(chan error, 1)
	go func() { applied <- w.manager.ApplyState(t.Context(), state, policyOf(0)) }()
	for given := range nodes {
		w.eventually("a request of each node", func() bool { return w.manager.connection.Waiting() == nodes })
		rate <- struct{}{}
		w.eventually("the request", func() bool { return w.cluster.Writes() > given })
	}
	for _, node := range w.nodes {
		if !w.cluster.Cordoned(node) {
			t.Errorf("%s is schedulable while pods are evicted from others", node)
		}
	}
	w.cluster.HoldWatches("")
	close(rate)
	if err := <-applied; err != nil {
		t.Error(err)
	}
}

// awaitRound returns after a round that has processed all changes so far.
func (w *world) awaitRound(counts *counts) {
	w.t.Helper()
	generation := func() int64 {
		for _, nodes := range w.build(w.t.Context()).NodeStates {
			return nodes[0].DriverDaemonSet.Generation
		}
		return 0
	}
	w.eventually("the new driver in the watch", func() bool { return generation() == 2 })
	before, i := counts.settled.Load(), 0
	w.eventually("a round", func() bool {
		i++
		w.cluster.SetLabel(w.nodes[0], "round", fmt.Sprint(i))
		return counts.settled.Load() >= before+2
	})
}

func TestAnOrderEndsAfterThreeIntervalsWithoutACall(t *testing.T) {
	w := newWorld(t, 2)
	counts := w.observe()
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.clock.Step(3*interval + time.Second)
	sent := w.cluster.Writes()
	w.cluster.NewDriver()
	w.awaitRound(counts)
	if now := w.cluster.Writes(); now != sent {
		t.Errorf("%d requests were sent: %s", now-sent, w.states())
	}
	w.apply(t.Context(), policyOf(1)) // the next call continues
	w.awaitEnd()
}

func TestAnOrderLastsForThreeIntervals(t *testing.T) {
	w := newWorld(t, 2)
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.clock.Step(3*interval - time.Second)
	w.cluster.NewDriver()
	w.awaitEnd()
}

// At client-go's default rate, it takes a quarter of an hour to write the marks of 5,000 nodes.
func TestALongCallWaitsForAllOfItsRequests(t *testing.T) {
	const nodes = 20
	w, rate := outdated(t, nodes)
	counts := w.observe()
	state := w.build(t.Context())
	applied := make(chan error, 1)
	go func() { applied <- w.manager.ApplyState(t.Context(), state, policyOf(1)) }()
	w.eventually("a request of each node", func() bool { return w.manager.connection.Waiting() == nodes })
	w.clock.Step(4 * interval)
	w.awaitRound(counts)
	select {
	case err := <-applied:
		t.Fatalf("the call has returned with %d requests that wait: %v", w.manager.connection.Waiting(), err)
	default:
	}
	close(rate)
	if err := <-applied; err != nil {
		t.Error(err)
	}
	if marked := len(w.cluster.States()); marked != nodes {
		t.Errorf("%d of %d nodes have a state", marked, nodes)
	}
	w.awaitEnd() // the order remains for three intervals after the call has returned
}

// If the pod watches ended, each round of such a call would list the pods of the nodes in progress again. In this test,
// these nodes wait for a pod to complete, and the call waits for the last node's first request.
func TestPodsStayFollowedWhileACallTakesLongerThanThreeIntervals(t *testing.T) {
	const nodes, drivers = 5, 4 // one watch each for nodes, DaemonSets, ControllerRevisions and driver pods
	w, rate := outdated(t, nodes)
	for i, node := range w.nodes {
		w.cluster.AddWorkload(fmt.Sprintf("work-%d", i), node)
	}
	counts := w.observe()
	state, policy := w.build(t.Context()), policyOf(0)
	policy.WaitForCompletion = &v1alpha1.WaitForCompletionSpec{PodSelector: "app=work"}
	applied := make(chan error, 1)
	go func() { applied <- w.manager.ApplyState(t.Context(), state, policy) }()
	w.eventually("a request of each node", func() bool { return w.manager.connection.Waiting() == nodes })
	for range nodes - 1 {
		rate <- struct{}{}
	}
	w.eventually("the watches of the others' pods", func() bool {
		return w.cluster.OpenWatches() == drivers+nodes-1 && w.manager.connection.Waiting() == 1
	})
	w.clock.Step(4 * interval)
	w.awaitRound(counts)
	close(rate)
	if err := <-applied; err != nil {
		t.Error(err)
	}
	w.eventually("the watch of the last node's pods", func() bool { return w.cluster.OpenWatches() == drivers+nodes })
	if begun := w.watchesOfPods(); begun != nodes {
		t.Errorf("%d watches of the pods on %d nodes were begun", begun, nodes)
	}
	for i := range nodes {
		w.cluster.DeleteWorkload(fmt.Sprintf("work-%d", i))
	}
	w.awaitEnd()
}

func (w *world) watchesOfPods() (begun int) {
	for _, request := range w.cluster.Requests() {
		if request.Watch && request.Path == "/api/v1/pods" {
			begun++
		}
	}
	return begun
}

// Node X has a waiting request but is not in the state of the second call, as happens if an operator makes separate
// calls for parts of its nodes.
func TestSwitchingOffDropsRequestsOfEarlierOrders(t *testing.T) {
	const nodes = 2
	w, rate := outdated(t, nodes)
	counts := w.observe()
	state := w.build(t.Context())
	part := NewClusterUpgradeState()
	part.NodeStates[UpgradeStateDone] = state.NodeStates[UpgradeStateDone][:1]
	var calls sync.WaitGroup
	apply := func(state *ClusterUpgradeState, policy *v1alpha1.DriverUpgradePolicySpec) {
		calls.Go(func() {
			if err := w.manager.ApplyState(t.Context(), state, policy); err != nil {
				t.Error(err)
			}
		})
	}
	apply(state, policyOf(1))
	w.eventually("a request of each node", func() bool { return w.manager.connection.Waiting() == nodes })
	passes := counts.passes.Load()
	apply(&part, policyOf(1))
	w.eventually("the pass of the part", func() bool { return counts.passes.Load() > passes })
	apply(state, &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: false})
	w.eventually("the end of what has waited", func() bool { return w.manager.connection.Waiting() == 0 })
	close(rate)
	calls.Wait()
	if sent := w.cluster.Writes(); sent > 0 {
		t.Errorf("%d requests were sent", sent)
	}
}

func TestAPolicyIsSwitchedOffWhileTheOnlyDriverPodIsReplaced(t *testing.T) {
	w := newWorld(t, 1)
	w.apply(t.Context(), policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.cluster.LoseDriverPod("n0")
	w.eventually("a state without nodes", func() bool { return len(w.build(t.Context()).NodeStates) == 0 })
	w.apply(t.Context(), &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: false})
	sent := w.cluster.Writes()
	w.cluster.RestoreDriverPod("n0")
	w.cluster.NewDriver()
	w.eventually("the new driver in the watch", func() bool {
		for _, nodes := range w.build(t.Context()).NodeStates {
			return nodes[0].DriverDaemonSet.Generation == 2
		}
		return false
	})
	w.clock.Step(time.Minute)
	w.apply(t.Context(), &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: false}) // one round later
	if now := w.cluster.Writes(); now != sent {
		t.Errorf("%d requests were sent: %s", now-sent, w.states())
	}
}

func TestAnOrderEndsWithAPolicyThatIsSwitchedOff(t *testing.T) {
	w := newWorld(t, 2)
	counts := w.observe()
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.apply(t.Context(), &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: false})
	sent := w.cluster.Writes()
	w.cluster.NewDriver()
	w.awaitRound(counts)
	if now := w.cluster.Writes(); now != sent {
		t.Errorf("%d requests were sent: %s", now-sent, w.states())
	}
	w.apply(t.Context(), policyOf(1))
	w.awaitEnd()
}

// The clock advances only if nothing else happens: by half a minute, or by ten seconds while a driver pod is becoming
// ready. Any work that the order left to the next call would wait for two minutes.
func TestAnOperatorThatCallsEveryTwoMinutesHasThreeNodesDoneInOneInterval(t *testing.T) {
	const quiet = 3 * time.Second
	w := newWorld(t, 3)
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.StartUnready()
	w.cluster.NewDriver()
	w.apply(t.Context(), policyOf(1))
	called, ready, moved := w.clock.Now(), time.Time{}, time.Now()
	waiting := slices.Clone(w.nodes) // nodes that wait for a driver pod to become ready
	shown := ""
	w.eventually("three nodes done", func() bool {
		if now := w.states(); now != shown {
			shown, moved = now, time.Now()
		}
		for _, node := range slices.Clone(waiting) {
			if w.cluster.Revision(node) != "hash-2" {
				continue
			}
			w.clock.Step(10 * time.Second)
			if ready.IsZero() {
				ready = w.clock.Now()
			}
			w.cluster.SetReady(node)
			waiting = slices.DeleteFunc(waiting, func(one string) bool { return one == node })
		}
		if time.Since(moved) > quiet {
			moved = time.Now()
			w.clock.Step(30 * time.Second)
		}
		if w.clock.Since(called) >= interval {
			called = w.clock.Now()
			w.apply(t.Context(), policyOf(1))
		}
		return len(waiting) == 0 && w.allIn(UpgradeStateDone)()
	})
	if took := w.clock.Since(ready); took > interval {
		t.Errorf("it took %v from the first driver pod that was ready", took)
	}
}

// recorder keeps Events. If gate is not nil, recording an Event blocks until the channel is closed.
type recorder struct {
	gate chan struct{}

	mu     sync.Mutex
	events []recorded
}

type recorded struct {
	object                *corev1.ObjectReference
	kind, reason, message string
}

func (r *recorder) Event(object runtime.Object, kind, reason, message string) {
	if r.gate != nil {
		<-r.gate
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, recorded{object.(*corev1.ObjectReference), kind, reason, message})
}

func (r *recorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (r *recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Eventf(object, kind, reason, format, args...)
}

func (r *recorder) all() []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func TestABlockedRecorderDelaysOnlyEvents(t *testing.T) {
	w := newWorld(t, 3)
	blocked := &recorder{gate: make(chan struct{})}
	defer close(blocked.gate)
	w.manage(setup{recorder: blocked})
	ctx, cancel := context.WithTimeout(t.Context(), patience) // a call that hangs fails the test, but does not block it
	defer cancel()
	w.apply(ctx, policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	w.awaitEnd()
	w.apply(ctx, policyOf(1))
	if events := blocked.all(); len(events) > 0 {
		t.Errorf("the recorder did not block: %v", events)
	}
}

func TestFindingsAreLoggedOnce(t *testing.T) {
	w := newWorld(t, 2)
	log, lines := logged(0)
	w.manage(setup{log: log})
	w.cluster.SetLabel("n0", GetUpgradeStateLabelKey(), "no-state-at-all")
	for range 3 {
		w.apply(t.Context(), policyOf(1))
	}
	found := slices.DeleteFunc(lines(), func(line string) bool { return !contains(line, "no-state-at-all", "n0") })
	if len(found) != 1 {
		t.Errorf("got %d lines: %v", len(found), lines())
	}
}

// The state that a call receives omits a node whose driver pod is being replaced, so the operator makes no decision for
// that node.
func TestANodeThatWasPodlessInTheStateOfACallStaysInTheOrder(t *testing.T) {
	for _, one := range []struct {
		name string
		of   func(*ClusterUpgradeState) *ClusterUpgradeState
	}{
		{"in the state that BuildState returned", func(state *ClusterUpgradeState) *ClusterUpgradeState { return state }},
		{"in a state that the operator built", func(state *ClusterUpgradeState) *ClusterUpgradeState {
			part := NewClusterUpgradeState()
			part.NodeStates = state.NodeStates
			return &part
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			w := newWorld(t, 2)
			w.apply(t.Context(), policyOf(0))
			w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
			w.cluster.StartUnready()
			w.cluster.NewDriver()
			w.eventually("new driver pods", func() bool {
				return w.cluster.Revision("n0") == "hash-2" && w.cluster.Revision("n1") == "hash-2"
			})
			w.cluster.LoseDriverPod("n1")
			var state *ClusterUpgradeState
			w.eventually("a state without n1", func() bool {
				state = w.build(t.Context())
				return len(state.podless) == 1
			})
			w.cluster.RestoreDriverPod("n1")
			w.eventually("a state with n1", func() bool { return len(w.build(t.Context()).podless) == 0 })
			if err := w.manager.ApplyState(t.Context(), one.of(state), policyOf(0)); err != nil {
				t.Fatal(err)
			}
			w.cluster.SetReady("n0")
			w.cluster.SetReady("n1")
			w.awaitEnd()
		})
	}
}

func TestAPodlessNodeIsLeftToTheNextCallUnderAnotherPolicy(t *testing.T) {
	w := newWorld(t, 2)
	counts := w.observe()
	w.apply(t.Context(), policyOf(0))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.LoseDriverPod("n1")
	w.eventually("a state without n1", func() bool { return len(w.build(t.Context()).podless) == 1 })
	w.apply(t.Context(), policyOf(1))
	w.cluster.RestoreDriverPod("n1")
	w.cluster.NewDriver()
	w.awaitRound(counts)
	w.eventually("the other node's upgrade", func() bool {
		return w.cluster.Revision("n0") == "hash-2" && w.cluster.State("n0") == UpgradeStateDone
	})
	if state := w.cluster.State("n1"); state != UpgradeStateDone || w.cluster.Revision("n1") != "hash-1" {
		t.Errorf("the node is %s, %s", state, w.cluster.Revision("n1"))
	}
	w.apply(t.Context(), policyOf(1))
	w.awaitEnd()
}
