package upgrade

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"

	"driverupgrade.example/go/internal/fakecluster"
)

// The tests in this file check that the module can replace the library whose API it provides.

func byHand() *ClusterUpgradeState {
	state := NewClusterUpgradeState()
	state.NodeStates[""] = []*NodeUpgradeState{{Node: &corev1.Node{}}}
	return &state
}

func TestStatesOfOtherManagersAreRefused(t *testing.T) {
	w := newWorld(t, 1)
	if err := w.manager.ApplyState(t.Context(), byHand(), policyOf(1)); err == nil {
		t.Error("taken")
	}
	if err := w.manager.ApplyState(t.Context(), nil, policyOf(1)); err == nil {
		t.Error("nil taken")
	}
}

func TestWithUpgradesOffNoStateIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	closed := w.build(t.Context())
	w.manager.Close()
	for name, state := range map[string]*ClusterUpgradeState{"made by hand": byHand(), "of a closed manager": closed} {
		for _, policy := range []*v1alpha1.DriverUpgradePolicySpec{nil, {AutoUpgrade: false}} {
			if err := w.manager.ApplyState(t.Context(), state, policy); err != nil {
				t.Errorf("a state %s: %v", name, err)
			}
		}
	}
	if err := w.manager.ApplyState(t.Context(), nil, nil); err == nil {
		t.Error("nil taken")
	}
}

func TestAPodOfAnotherDaemonSetIsInNoState(t *testing.T) {
	w := newWorld(t, 2)
	w.cluster.LoseDriverPod("n1")
	w.cluster.AddLookalike("lookalike-0", "n0")
	w.cluster.AddLookalike("lookalike-1", "n1")
	state := w.build(t.Context())
	for _, nodes := range state.NodeStates {
		for _, node := range nodes {
			if node.IsOrphanedPod() || strings.HasPrefix(node.DriverPod.Name, "lookalike") {
				t.Errorf("%s is in the state", node.DriverPod.Name)
			}
		}
	}
	if total := w.manager.GetTotalManagedNodes(state); total != 1 {
		t.Errorf("%d nodes", total)
	}
}

func TestAutoUpgradeOfTheExtraPolicyLeavesNoOrderBehind(t *testing.T) {
	w := newWorld(t, 2)
	counts := w.observe()
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	if err := w.manager.SetExtraPolicy([]byte(`{"autoUpgrade": false}`)); err != nil {
		t.Fatal(err)
	}
	w.apply(t.Context(), policyOf(1))
	passes := counts.passes.Load()
	w.cluster.NewDriver()
	w.awaitRound(counts)
	if now := counts.passes.Load(); now != passes {
		t.Errorf("%d passes were made afterwards", now-passes)
	}
}

// Both BuildState and the passes of an order call the predicate.
func TestARestartOnlyPredicateIsAskedOnceAtATime(t *testing.T) {
	var asking, together, asked atomic.Int64
	w := newWorld(t, 3)
	w.manager.WithRestartOnlyPredicate(func(_, _ *corev1.PodSpec) (bool, error) {
		if asking.Add(1) > 1 {
			together.Add(1)
		}
		time.Sleep(time.Millisecond)
		asking.Add(-1)
		asked.Add(1)
		return false, nil
	})
	if err := w.manager.SetExtraPolicy([]byte(`{"paused": true}`)); err != nil { // so that the nodes keep waiting
		t.Fatal(err)
	}
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	var building sync.WaitGroup
	for range 3 {
		building.Go(func() {
			for deadline := time.Now().Add(patience); asked.Load() < 100 && time.Now().Before(deadline); {
				w.cluster.NewDriver() // a question for each node
				_, _ = w.manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels)
			}
		})
	}
	building.Wait()
	if together.Load() > 0 || asked.Load() < 100 {
		t.Errorf("%d of %d questions came while another one was asked", together.Load(), asked.Load())
	}
}

func TestRequestsNameTheirOperator(t *testing.T) {
	w := newWorld(t, 1)
	var mu sync.Mutex
	agents := map[string]bool{}
	config := w.cluster.Config()
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			agents[r.Method+" "+r.UserAgent()] = true
			mu.Unlock()
			return next.RoundTrip(r)
		})
	}
	w.manage(setup{config: config})
	w.apply(t.Context(), policyOf(1))
	mu.Lock()
	defer mu.Unlock()
	if len(agents) != 2 {
		t.Errorf("not a GET and a PATCH: %v", agents)
	}
	for agent := range agents {
		if !strings.HasSuffix(agent, " "+rest.DefaultKubernetesUserAgent()) {
			t.Errorf("%q is not client-go's name of this program", agent)
		}
	}
}

func TestAStoppingOperatorLogsNoErrors(t *testing.T) {
	w := newWorld(t, 3)
	log, lines := logged(0)
	w.manage(setup{log: log})
	ctx, cancel := context.WithCancel(t.Context())
	state := w.build(ctx)
	w.cluster.SetBefore(func(string, string) bool { // while a request for each node is in progress
		cancel()
		time.Sleep(10 * time.Millisecond)
		return true
	})
	_ = w.manager.ApplyState(ctx, state, policyOf(0))
	w.manager.Close()
	w.eventually("no host that has ended", func() bool { return len(w.manager.allHosts()) == 0 })
	time.Sleep(50 * time.Millisecond)
	errors := slices.DeleteFunc(lines(), func(line string) bool { return !contains(line, `"error"=`) || contains(line, `"level"=`) })
	if len(errors) > 0 {
		t.Errorf("logged: %q", errors)
	}
}

func TestSelectionsAreEvaluatedInOrder(t *testing.T) {
	w := newWorld(t, 1)
	for _, app := range []string{"c", "a", "driver", "b"} {
		if _, err := w.manager.BuildState(t.Context(), fakecluster.Namespace, map[string]string{"app": app}); err != nil {
			t.Fatal(err)
		}
	}
	var selections []string
	for _, one := range w.manager.allHosts() {
		selections = append(selections, one.Selection())
	}
	if len(selections) != 4 || !slices.IsSorted(selections) {
		t.Errorf("got %q", selections)
	}
}
