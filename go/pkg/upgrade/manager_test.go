package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"

	"driverupgrade.example/go/internal/fakecluster"
)

// Real time that a test waits for an expected event. Only a failing test waits this long.
const patience = 3 * time.Minute

var driverLabels = map[string]string{"app": "driver"}

type world struct {
	t       *testing.T
	cluster *fakecluster.Cluster
	clock   *testclock.FakeClock
	manager *Manager
	events  *recorder
	nodes   []string
}

func newWorld(t *testing.T, nodes int) *world {
	t.Helper()
	SetDriverName("gpu")
	w := &world{t: t, cluster: fakecluster.New(), clock: testclock.NewFakeClock(time.Unix(1_700_000_000, 0)),
		events: &recorder{}}
	for i := range nodes {
		w.nodes = append(w.nodes, fmt.Sprintf("n%d", i))
		w.cluster.AddNode(w.nodes[i])
	}
	t.Cleanup(w.cluster.Close) // after the Managers are closed
	log := logr.Discard()
	if testing.Verbose() {
		log = testr.NewWithOptions(t, testr.Options{Verbosity: 1})
	}
	w.manage(setup{log: log})
	return w
}

// setup contains the settings of a Manager. Its zero value selects no log, the world's cluster, and the world's
// recorder.
type setup struct {
	log      logr.Logger
	config   *rest.Config
	recorder record.EventRecorder
	state    StateOptions
	options  []Option
}

// manage replaces the Manager of the world.
func (w *world) manage(of setup) {
	w.t.Helper()
	if of.config == nil {
		of.config = w.cluster.Config()
	}
	if of.recorder == nil {
		of.recorder = w.events
	}
	manager, err := NewManager(of.log, of.config, of.recorder, of.state, append(of.options, WithClock(w.clock))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(manager.Close)
	if w.manager != nil {
		w.manager.Close()
	}
	w.manager = manager
}

// logged returns a log, and a function that returns the lines that were logged at this verbosity so far.
func logged(verbosity int) (log logr.Logger, lines func() []string) {
	var mu sync.Mutex
	var all []string
	log = funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, args)
	}, funcr.Options{Verbosity: verbosity})
	return log, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func (w *world) build(ctx context.Context) *ClusterUpgradeState {
	w.t.Helper()
	state, err := w.manager.BuildState(ctx, fakecluster.Namespace, driverLabels)
	if err != nil {
		w.t.Fatal(err)
	}
	return state
}

func (w *world) apply(ctx context.Context, policy *v1alpha1.DriverUpgradePolicySpec) {
	w.t.Helper()
	if err := w.manager.ApplyState(ctx, w.build(ctx), policy); err != nil {
		w.t.Fatal(err)
	}
}

// eventually checks the condition after every change in the cluster, and again shortly afterwards, because watches take
// a moment to report the change.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		changed := w.cluster.Changed()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			w.t.Fatalf("not seen: %s; nodes: %s", what, w.states())
		}
	}
}

func (w *world) states() string {
	var states []string
	for _, node := range w.nodes {
		gate, _ := w.manager.Explain(node)
		states = append(states, fmt.Sprintf("%s %s %s %q", node, w.cluster.State(node), w.cluster.Revision(node), gate.Reason))
	}
	return strings.Join(states, "; ")
}

func (w *world) allIn(state string) func() bool {
	return func() bool {
		return !slices.ContainsFunc(w.nodes, func(node string) bool { return w.cluster.State(node) != state })
	}
}

func policyOf(parallel int) *v1alpha1.DriverUpgradePolicySpec {
	return &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: true, MaxParallelUpgrades: parallel,
		DrainSpec: &v1alpha1.DrainSpec{Enable: true, TimeoutSecond: 300}}
}

func TestANodeIsUpgradedAndUncordoned(t *testing.T) {
	w := newWorld(t, 3)
	w.cluster.AddWorkload("work-0", "n0")
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	w.eventually("the new driver", func() bool {
		w.apply(t.Context(), policyOf(1))
		return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-2"
	})
	for _, node := range w.nodes {
		if w.cluster.Cordoned(node) || w.cluster.Revision(node) != "hash-2" {
			t.Errorf("%s: cordoned %v, %s", node, w.cluster.Cordoned(node), w.cluster.Revision(node))
		}
	}
	for _, node := range w.nodes {
		want := []string{"upgrade-done", "upgrade-required", "cordon-required", "wait-for-jobs-required", "drain-required", "", "",
			"pod-restart-required", "uncordon-required", "upgrade-done"}
		for i, state := range want {
			want[i] = "Successfully updated node state label to " + state
		}
		want[5], want[6] = "Scheduling drain of the node", "Successfully drained the node"
		var got []string
		w.eventually("the last Event of "+node, func() bool {
			got = nil
			for _, event := range w.events.all() {
				if event.object.Name != node {
					continue
				}
				got = append(got, event.message)
				if event.kind != corev1.EventTypeNormal || event.reason != GetEventReason() || event.object.Kind != "Node" ||
					event.object.APIVersion != "v1" || string(event.object.UID) != w.cluster.UID(node) {
					t.Fatalf("%s %s %q on %+v", event.kind, event.reason, event.message, event.object)
				}
			}
			return len(got) >= len(want)
		})
		if !slices.Equal(got, want) {
			t.Errorf("Events of %s:\n%q, not\n%q", node, got, want)
		}
	}
}

// kubernetes#80698: the number of the new revision is lower than, or equal to, the number of the previous revision.
func TestTheTemplateDecidesIfRevisionNumbersAreWrong(t *testing.T) {
	w := newWorld(t, 2)
	w.apply(t.Context(), policyOf(2))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	for number, revision := range []string{"hash-2", "hash-3"} {
		w.cluster.NewDriverNumbered(number)
		w.eventually(revision, func() bool {
			w.apply(t.Context(), policyOf(2))
			return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == revision && w.cluster.Revision("n1") == revision
		})
	}
}

func TestBuildStateListsOnceAndSendsNothingAfterwards(t *testing.T) {
	for name, old := range map[string]bool{"a watch that starts with a list": false, "a list and a watch": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			if old {
				w.cluster.SetOld()
			}
			state := w.build(t.Context())
			if total := w.manager.GetTotalManagedNodes(state); total != 2 {
				t.Errorf("%d nodes", total)
			}
			for _, node := range state.NodeStates[UpgradeStateUnknown] {
				if node.DriverPod.Spec.NodeName != node.Node.Name || node.IsOrphanedPod() || node.NodeMaintenance != nil {
					t.Errorf("node %s: pod %s of %v", node.Node.Name, node.DriverPod.Name, node.DriverDaemonSet)
				}
			}
			before := w.lists()
			for range 10 {
				w.build(t.Context())
			}
			if after := w.lists(); before != 4 || after != before {
				t.Errorf("%d lists, %d after ten more BuildStates", before, after)
			}
		})
	}
}

// lists counts all lists, including the lists with which watches start.
func (w *world) lists() (lists int) {
	for _, request := range w.cluster.Requests() {
		if request.IsList() {
			lists++
		}
	}
	return lists
}

func TestAnOrderContinuesWhenDriverPodsBecomeReady(t *testing.T) {
	w := newWorld(t, 3)
	w.apply(t.Context(), policyOf(0))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.StartUnready()
	w.cluster.NewDriver()
	// From here on, the test makes no calls.
	w.eventually("restarted driver pods", func() bool {
		return !slices.ContainsFunc(w.nodes, func(node string) bool { return w.cluster.Revision(node) != "hash-2" })
	})
	for _, node := range w.nodes {
		w.cluster.SetReady(node)
	}
	w.eventually("all nodes done", w.allIn(UpgradeStateDone))
}

func TestNothingIsSentOnceTheContextOfApplyStateHasEnded(t *testing.T) {
	w := newWorld(t, 3)
	w.apply(t.Context(), policyOf(0))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.StartUnready()
	w.cluster.NewDriver()
	ctx, cancel := context.WithCancel(t.Context())
	w.eventually("the outdated nodes", func() bool {
		w.apply(ctx, policyOf(0))
		return !slices.ContainsFunc(w.nodes, func(node string) bool { return w.cluster.Revision(node) != "hash-2" })
	})
	cancel()
	sent := w.cluster.Writes()
	for _, node := range w.nodes {
		w.cluster.SetReady(node)
	}
	// Another order shows that the changes have arrived, and that the first order did not act on them.
	w.eventually("the pods as ready", func() bool {
		ready := 0
		for _, nodes := range w.build(t.Context()).NodeStates {
			for _, node := range nodes {
				if node.DriverPod.Status.ContainerStatuses[0].Ready {
					ready++
				}
			}
		}
		return ready == 3
	})
	if now := w.cluster.Writes(); now != sent {
		t.Errorf("%d requests were sent afterwards", now-sent)
	}
	w.apply(t.Context(), policyOf(0))
	w.eventually("all nodes done", w.allIn(UpgradeStateDone))
}

func TestARequestCanceledBeforeItsResponseCountsAsUnanswered(t *testing.T) {
	w := newWorld(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	w.cluster.SetBefore(func(string, string) bool {
		cancel()
		return false
	})
	if err := w.manager.ApplyState(ctx, w.build(t.Context()), policyOf(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	w.cluster.SetBefore(nil)
	w.eventually("the next operator's upgrade", func() bool {
		_ = w.manager.ApplyState(t.Context(), w.build(t.Context()), policyOf(1))
		w.clock.Step(time.Minute) // a refused request is retried after a pause
		return w.cluster.State("n0") == UpgradeStateDone
	})
}

var seeds = flag.Int("seeds", 100, "of the test of parts")

func TestPartsOfOneStateKeepToTheirOwnBudgets(t *testing.T) {
	for seed := range *seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { rollParts(t, rand.New(rand.NewSource(int64(seed)))) })
	}
}

// rollParts rolls out three policies for three parts of one state, while driver pods come and go.
func rollParts(t *testing.T, random *rand.Rand) {
	w := newWorld(t, 9)
	budgets := []int{1 + random.Intn(3), 1 + random.Intn(3), 1 + random.Intn(3)}
	part := map[string]int{}
	for _, node := range w.nodes {
		part[node] = random.Intn(len(budgets))
	}
	apply := func() {
		state := w.build(t.Context())
		for i, budget := range budgets {
			mine := NewClusterUpgradeState()
			for name, nodes := range state.NodeStates {
				for _, node := range nodes {
					if part[node.Node.Name] == i {
						mine.NodeStates[name] = append(mine.NodeStates[name], node)
					}
				}
			}
			_ = w.manager.ApplyState(t.Context(), &mine, policyOf(budget)) // a failed write is retried
		}
	}
	check := func() {
		inProgress := make([]int, len(budgets))
		for node, state := range w.cluster.States() {
			if state != UpgradeStateDone && state != UpgradeStateUpgradeRequired && state != "" {
				inProgress[part[node]]++
			}
		}
		for i, budget := range budgets {
			if inProgress[i] > budget {
				t.Fatalf("%d nodes of part %d are in progress, %d may be: %s", inProgress[i], i, budget, w.states())
			}
		}
	}
	w.eventually("the states of current nodes", func() bool { apply(); return w.allIn(UpgradeStateDone)() })
	w.cluster.NewDriver()
	lost := ""
	w.eventually("the new driver on every node", func() bool {
		check()
		switch {
		case lost != "" && random.Intn(3) == 0:
			w.cluster.RestoreDriverPod(lost)
			lost = ""
		case lost == "" && random.Intn(3) == 0:
			lost = w.nodes[random.Intn(len(w.nodes))]
			w.cluster.LoseDriverPod(lost)
		}
		if random.Intn(2) == 0 {
			apply()
		}
		check()
		return w.allIn(UpgradeStateDone)() && !slices.ContainsFunc(w.nodes, func(node string) bool { return w.cluster.Revision(node) != "hash-2" })
	})
}

func TestBuildStateNeedsANamespaceAndLabels(t *testing.T) {
	w := newWorld(t, 1)
	for want, of := range map[string]struct {
		namespace string
		labels    map[string]string
	}{"namespace: must not be empty": {"", driverLabels}, "driverLabels: must not be empty": {fakecluster.Namespace, nil}} {
		if _, err := w.manager.BuildState(t.Context(), of.namespace, of.labels); err == nil || !contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestAnUnreachableServerIsReported(t *testing.T) {
	w := newWorld(t, 1)
	config := w.cluster.Config()
	config.WrapTransport = func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return nil, errors.New("no route") })
	}
	manager, err := NewManager(logr.Discard(), config, nil, StateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if _, err := manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels); err == nil || !strings.Contains(err.Error(), "no route") {
		t.Errorf("got %v", err)
	}
}

// In these cases, client-go retries silently and indefinitely.
func TestBuildStateFailsIfTheServerRefusesRequests(t *testing.T) {
	for name, answer := range map[string]func() (*http.Response, error){
		"connection refused": func() (*http.Response, error) { return nil, syscall.ECONNREFUSED },
		"too many requests": func() (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusTooManyRequests, Body: io.NopCloser(strings.NewReader(""))}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			var refuses atomic.Bool
			refuses.Store(true)
			config := w.cluster.Config()
			config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if refuses.Load() {
						return answer()
					}
					return next.RoundTrip(r)
				})
			}
			manager, err := NewManager(logr.Discard(), config, nil, StateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer manager.Close()
			// Each call has its own context.
			build := func() error {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, err := manager.BuildState(ctx, fakecluster.Namespace, driverLabels)
				if ctx.Err() != nil {
					t.Errorf("the call has hung: %v", err)
				}
				return err
			}
			for range 2 {
				if err := build(); err == nil || !strings.Contains(err.Error(), "list ") {
					t.Errorf("got %v", err)
				}
			}
			refuses.Store(false)
			w.eventually("the state of a server that is back", func() bool { return build() == nil })
		})
	}
}

func contains(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestZerosOfThePolicyAreSpelledOut(t *testing.T) {
	percent := intstr.FromString("10%")
	members, err := policyMembers(&v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: true, MaxUnavailable: &percent,
		DrainSpec: &v1alpha1.DrainSpec{Enable: true}, WaitForCompletion: &v1alpha1.WaitForCompletionSpec{PodSelector: "a=b"}}, nil)
	want := `{"autoUpgrade":true,"drain":{"deleteEmptyDir":false,"enable":true,"force":false,"podSelector":"","timeoutSeconds":0},` +
		`"maxParallelUpgrades":0,"maxUnavailable":"10%","waitForCompletion":{"podSelector":"a=b","timeoutSeconds":0}}`
	if got, _ := json.Marshal(members); err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestTheExtraPolicyIsMergedFieldByField(t *testing.T) {
	policy := &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: true, MaxParallelUpgrades: 2,
		DrainSpec: &v1alpha1.DrainSpec{Enable: true, PodSelector: "team=a", TimeoutSecond: 600}}
	const drain = `{"deleteEmptyDir":false,"enable":true,"force":false,"podSelector":"team=a","timeoutSeconds":600}`
	for extra, want := range map[string]string{
		`null`: `{"autoUpgrade":true,"drain":` + drain + `,"maxParallelUpgrades":2}`,
		`{"drain":{"onTimeout":"Delete"}}`: `{"autoUpgrade":true,"drain":{"deleteEmptyDir":false,"enable":true,"force":false,` +
			`"onTimeout":"Delete","podSelector":"team=a","timeoutSeconds":600},"maxParallelUpgrades":2}`,
		`{"drain":{"timeoutSeconds":60},"maxParallelUpgrades":3}`: `{"autoUpgrade":true,"drain":{"deleteEmptyDir":false,"enable":true,` +
			`"force":false,"podSelector":"team=a","timeoutSeconds":60},"maxParallelUpgrades":3}`,
		`{"retry":{"maxAttempts":2}}`: `{"autoUpgrade":true,"drain":` + drain + `,"maxParallelUpgrades":2,"retry":{"maxAttempts":2}}`,
		`{"drain":null}`:              `{"autoUpgrade":true,"drain":null,"maxParallelUpgrades":2}`,
	} {
		manager := &Manager{}
		if err := manager.SetExtraPolicy([]byte(extra)); err != nil {
			t.Fatal(err)
		}
		members, err := policyMembers(policy, manager.extra)
		if got, _ := json.Marshal(members); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", extra, got, err)
		}
	}
	one, two := map[string]json.RawMessage{}, map[string]json.RawMessage{"a": json.RawMessage(`{"b":{"d":[3]}}`)}
	one["a"] = json.RawMessage(`{"b":{"c":1,"d":[2,4]},"e":5}`)
	overlay(one, two)
	if got := string(one["a"]); got != `{"b":{"c":1,"d":[3]},"e":5}` {
		t.Errorf("nested objects: got %s", got)
	}
}

func TestAnExtraPolicyForTheDrainLeavesTheDrainOn(t *testing.T) {
	w := newWorld(t, 1)
	w.cluster.AddWorkload("work-0", "n0")
	if err := w.manager.SetExtraPolicy([]byte(`{"drain":{"onTimeout":"Delete"}}`)); err != nil {
		t.Fatal(err)
	}
	w.apply(t.Context(), policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	w.eventually("the new driver", func() bool {
		w.apply(t.Context(), policyOf(1))
		return w.cluster.Revision("n0") == "hash-2"
	})
	if w.cluster.HasWorkload("work-0") {
		t.Error("the driver was replaced while the workload was running")
	}
}
