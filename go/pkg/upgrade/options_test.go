package upgrade

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"driverupgrade.example/go/internal/fakecluster"
	"driverupgrade.example/go/internal/host"
)

// started returns a world whose nodes are done with revision 1. Revision 2 has just been released. The function alter
// changes the world before the policy is applied.
func started(t *testing.T, nodes int, policy *v1alpha1.DriverUpgradePolicySpec, alter func(*world)) *world {
	t.Helper()
	w := newWorld(t, nodes)
	alter(w)
	w.apply(t.Context(), policy)
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	return w
}

func (w *world) awaitState(node, state string) {
	w.t.Helper()
	w.eventually(node+" in "+state, func() bool { return w.cluster.State(node) == state })
}

func (w *world) awaitEnd() {
	w.t.Helper()
	w.awaitRevision("hash-2")
}

func (w *world) awaitGate(node, reason string) Gate {
	w.t.Helper()
	var gate Gate
	w.eventually(node+" waiting for "+reason, func() bool {
		gate, _ = w.manager.Explain(node)
		return gate.Reason == reason
	})
	return gate
}

func TestPodsThatUseTheDriverAreEvictedAndTheOthersStay(t *testing.T) {
	policy := &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: true, MaxParallelUpgrades: 1,
		PodDeletion: &v1alpha1.PodDeletionSpec{TimeoutSecond: 300}}
	w := started(t, 1, policy, func(w *world) {
		w.manager.WithPodDeletionEnabled(func(pod corev1.Pod) bool { return strings.HasPrefix(pod.Name, "uses") })
		w.cluster.AddWorkload("uses-the-driver", "n0")
		w.cluster.AddWorkload("does-not", "n0")
	})
	w.awaitEnd()
	if w.cluster.HasWorkload("uses-the-driver") {
		t.Error("the pod that uses the driver is still there")
	}
	if !w.cluster.HasWorkload("does-not") {
		t.Error("a pod that does not use the driver was evicted")
	}
	if !w.manager.IsPodDeletionEnabled() {
		t.Error("pod deletion is said to be off")
	}
}

func TestDrainsEvictPodsWithTheSkipLabelOnlyIfAllowed(t *testing.T) {
	state := func(w *world) { w.apply(w.t.Context(), policyOf(1)) }
	document := func(w *world) { w.applyPolicy(`{autoUpgrade: true, drain: {enable: true, podSelector: app=work}}`) }
	for name, c := range map[string]struct {
		apply   func(*world)
		options []Option
		stays   bool
	}{
		"ApplyState":                            {state, nil, true},
		"ApplyPolicy":                           {document, nil, true},
		"ApplyState, with skipped pods evicted": {state, []Option{WithSkippedPodsEvicted()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.manage(setup{options: c.options})
			w.cluster.AddWorkload("labeled", "n0")
			w.cluster.LabelWorkload("labeled", "nvidia.com/gpu-driver-upgrade-drain.skip", "true")
			w.cluster.AddWorkload("other", "n0")
			c.apply(w)
			w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
			w.cluster.NewDriver()
			w.eventually("the new driver", func() bool {
				c.apply(w)
				return w.allIn(UpgradeStateDone)() && w.cluster.Revision("n0") == "hash-2"
			})
			if w.cluster.HasWorkload("labeled") != c.stays || w.cluster.HasWorkload("other") {
				t.Errorf("the labeled pod stays: %v, the other pod stays: %v", w.cluster.HasWorkload("labeled"), w.cluster.HasWorkload("other"))
			}
		})
	}
}

func TestAnotherNumberOfRestartsMakesADriverFail(t *testing.T) {
	w := newWorld(t, 1)
	w.manage(setup{options: []Option{WithDriverRestartCountMax(11)}}) // FailDriver restarts the driver eleven times
	w.cluster.StartUnready()
	w.apply(t.Context(), policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	w.eventually("the new driver pod", func() bool { return w.cluster.Revision("n0") == "hash-2" })
	w.cluster.FailDriver("n0")
	w.eventually("the restarts", func() bool {
		for _, nodes := range w.build(t.Context()).NodeStates {
			for _, node := range nodes {
				return node.DriverPod.Status.ContainerStatuses[0].RestartCount == 11
			}
		}
		return false
	})
	w.apply(t.Context(), policyOf(1))
	if state := w.cluster.State("n0"); state == UpgradeStateFailed {
		t.Error("the node has failed")
	}
	w.manage(setup{options: []Option{WithDriverRestartCountMax(10)}})
	w.apply(t.Context(), policyOf(1))
	w.awaitState("n0", UpgradeStateFailed)
	w.manage(setup{options: []Option{WithDriverRestartCountMax(-1)}})
	if _, err := w.manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels); err == nil || !contains(err.Error(), "driverRestartCountMax") {
		t.Errorf("a negative number: got %v", err)
	}
}

func TestAFullLedgerAdmitsNoFurtherNode(t *testing.T) {
	const all = `{autoUpgrade: true, maxParallelUpgrades: 0}`
	w := newWorld(t, 2)
	w.manage(setup{options: []Option{WithGrantsMax(1), WithLedger("gpu-operator", "driver-upgrades")}})
	w.applyPolicy(all)
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.StartUnready()
	w.cluster.NewDriver()
	w.awaitState("n0", UpgradeStatePodRestartRequired)
	if gate := w.awaitGate("n1", "Ledger"); !contains(gate.Detail, "the ledger is full: 1 nodes") {
		t.Errorf("n1 waits for %q", gate.Detail)
	}
}

// The check fails once, so that the Manager calls it again with the same version of the pod.
func TestAPodFilterGetsItsOwnCopies(t *testing.T) {
	policy := &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: true, MaxParallelUpgrades: 1,
		PodDeletion: &v1alpha1.PodDeletionSpec{TimeoutSecond: 300}}
	var calls, changed atomic.Int64
	w := started(t, 1, policy, func(w *world) {
		w.manager.WithPodDeletionCheck(func(pod corev1.Pod) (bool, error) {
			if pod.Labels["seen"] != "" {
				changed.Add(1)
			}
			pod.Labels["seen"] = "yes"
			if pod.Name == "uses-the-driver" && calls.Add(1) == 1 {
				return false, errors.New("not known yet")
			}
			return strings.HasPrefix(pod.Name, "uses"), nil
		})
		w.cluster.AddWorkload("uses-the-driver", "n0")
		w.cluster.AddWorkload("does-not", "n0")
	})
	w.eventually("the new driver", func() bool {
		w.clock.Step(5 * time.Second)
		return w.upgraded() == 1
	})
	if calls.Load() < 2 || changed.Load() > 0 {
		t.Errorf("of %d calls for the pod, %d had a pod that an earlier one has changed", calls.Load(), changed.Load())
	}
}

func TestBuildStateWaitsForNodeMaintenances(t *testing.T) {
	w := newWorld(t, 1)
	config := w.cluster.Config()
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/nodemaintenances") {
				return nil, errors.New("no NodeMaintenances")
			}
			return next.RoundTrip(r)
		})
	}
	manager, err := NewManager(logr.Discard(), config, nil, StateOptions{Requestor: RequestorOptions{UseMaintenanceOperator: true,
		MaintenanceOPRequestorID: "gpu.example.com", MaintenanceOPRequestorNS: "maintenance", NodeMaintenanceNamePrefix: "gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if _, err := manager.BuildState(t.Context(), "gpu-operator", driverLabels); err == nil || !strings.Contains(err.Error(), "no NodeMaintenances") {
		t.Errorf("got %v", err)
	}
}

func TestANodeIsKeptUntilItsValidationPodIsReady(t *testing.T) {
	w := started(t, 1, policyOf(1), func(w *world) {
		w.manager.WithValidationEnabled("app=validator")
		w.cluster.SetValidator("n0", false)
	})
	w.awaitState("n0", UpgradeStateValidationRequired)
	gate := w.awaitGate("n0", "Validation")
	if !strings.Contains(gate.Detail, "validator-n0") {
		t.Errorf("the gate does not name the pod: %q", gate.Detail)
	}
	if !w.cluster.Cordoned("n0") {
		t.Error("the node was given back before its validation")
	}
	w.cluster.SetValidator("n0", true)
	w.awaitEnd()
}

func TestARestartOnlyUpgradeEvictsNoPods(t *testing.T) {
	w := started(t, 1, policyOf(1), func(w *world) {
		w.manager.WithRestartOnlyPredicate(func(running, desired *corev1.PodSpec) (bool, error) {
			return running.Containers[0].Name == desired.Containers[0].Name, nil
		})
		w.cluster.AddWorkload("stays", "n0")
		w.cluster.SetBefore(func(_, path string) bool { return !strings.HasSuffix(path, "/eviction") })
	})
	w.awaitEnd()
	if !w.cluster.HasWorkload("stays") {
		t.Error("a pod was evicted for a mere restart")
	}
}

func TestANodeWaitsWhileItsRestartOnlyPredicateFails(t *testing.T) {
	var fails atomic.Bool
	fails.Store(true)
	w := started(t, 1, policyOf(1), func(w *world) {
		w.manager.WithRestartOnlyPredicate(func(_, _ *corev1.PodSpec) (bool, error) {
			if fails.Load() {
				return false, errors.New("no opinion")
			}
			return true, nil
		})
	})
	var gate Gate
	w.eventually("why the node waits", func() bool {
		gate, _ = w.manager.Explain("n0")
		return strings.Contains(gate.Detail, "no opinion")
	})
	if w.cluster.Revision("n0") != "hash-1" {
		t.Error("the driver was replaced without an answer")
	}
	fails.Store(false)
	w.eventually("the new driver", func() bool {
		w.clock.Step(interval)
		w.apply(t.Context(), policyOf(1))
		return w.cluster.State("n0") == UpgradeStateDone && w.cluster.Revision("n0") == "hash-2"
	})
}

func TestTheExtraPolicyComplementsTheTypesFields(t *testing.T) {
	w := newWorld(t, 3)
	if err := w.manager.SetExtraPolicy([]byte(`{"paused": tru`)); err == nil {
		t.Error("an extra policy that is no JSON was taken")
	}
	if err := w.manager.SetExtraPolicy([]byte(`{"pausd": true}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.manager.ApplyState(t.Context(), w.build(t.Context()), policyOf(1)); err == nil || !strings.Contains(err.Error(), "pausd") {
		t.Errorf("a field that is none is told as: %v", err)
	}
	if err := w.manager.SetExtraPolicy([]byte(`{"paused": true}`)); err != nil {
		t.Fatal(err)
	}
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	for _, node := range w.nodes {
		w.awaitGate(node, "Paused")
	}
	// Until a node's patch has received a response, the node has a different gate.
	w.eventually("three nodes counted as paused", func() bool { return w.manager.Stats().Waiting["Paused"] == 3 })
	// Work started under another policy is withdrawn and retried only after a pause. Because the clock of this test
	// stands still, the labels must exist before the policy changes.
	w.eventually("three nodes that wait", w.allIn(UpgradeStateUpgradeRequired))
	if err := w.manager.SetExtraPolicy(nil); err != nil {
		t.Fatal(err)
	}
	w.apply(t.Context(), policyOf(1))
	w.awaitEnd()
	if sent := w.manager.Stats().Requests["PATCH"]; sent == 0 {
		t.Errorf("no patch is counted: %v", w.manager.Stats().Requests)
	}
}

func TestReleaseRestoresANodeInProgress(t *testing.T) {
	w := started(t, 2, policyOf(1), func(w *world) {})
	w.cluster.StartUnready()
	w.eventually("a node in the middle", func() bool {
		w.apply(t.Context(), policyOf(1))
		return w.cluster.Cordoned("n0") || w.cluster.Cordoned("n1")
	})
	w.eventually("no mark on any node", w.release)
}

// release makes one call of Release, and reports whether all nodes are restored.
func (w *world) release() bool {
	if err := w.manager.Release(w.t.Context(), w.build(w.t.Context())); err != nil {
		return false // the state may have changed in the meantime
	}
	return !slices.ContainsFunc(w.nodes, func(node string) bool { return w.cluster.State(node) != "" || w.cluster.Cordoned(node) })
}

func TestReleaseRestoresNodesWithoutADriverPod(t *testing.T) {
	w := started(t, 2, policyOf(1), func(w *world) {})
	w.cluster.StartUnready()
	var cordoned string
	w.eventually("a node in the middle", func() bool {
		w.apply(t.Context(), policyOf(1))
		for _, node := range w.nodes {
			if w.cluster.Cordoned(node) {
				cordoned = node
			}
		}
		return cordoned != ""
	})
	w.cluster.LoseDriverPod(cordoned)
	w.eventually("the state without the pod", func() bool { return len(w.build(t.Context()).podless) == 1 })
	w.eventually("no mark on any node", w.release)
}

func TestReleaseKeepsThePodlessNodesOfOtherSelections(t *testing.T) {
	w := started(t, 2, policyOf(1), func(w *world) {})
	w.cluster.StartUnready()
	w.eventually("a node in the middle", func() bool {
		w.apply(t.Context(), policyOf(1))
		return len(w.cordoned()) == 1
	})
	other := func() *ClusterUpgradeState {
		t.Helper()
		state, err := w.manager.BuildState(t.Context(), fakecluster.Namespace, map[string]string{"app": "other-driver"})
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	releaseOther := func() {
		t.Helper()
		if err := w.manager.Release(t.Context(), other()); err != nil {
			t.Fatal(err)
		}
		for _, node := range w.nodes {
			if w.cluster.State(node) == "" {
				t.Errorf("%s was released: %s", node, w.states())
			}
		}
	}
	w.eventually("the nodes in the other selection", func() bool { return len(other().podless) == 2 })
	releaseOther()
	for _, node := range w.nodes { // as if the DaemonSet were deleted
		w.cluster.LoseDriverPod(node)
	}
	w.eventually("the state without pods", func() bool { return len(w.build(t.Context()).podless) == 2 })
	releaseOther()
	w.eventually("no mark on any node", w.release)
}

func TestANodeBelongsToTheSelectionOfItsLastDriverPod(t *testing.T) {
	w := newWorld(t, 1)
	w.build(t.Context())
	other := map[string]string{"app": "lookalike"}
	if _, err := w.manager.BuildState(t.Context(), fakecluster.Namespace, other); err != nil {
		t.Fatal(err)
	}
	hosts := w.manager.allHosts() // sorted by labels
	node := []host.Member{{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}}}
	podless := []host.Podless{{Name: "n0"}}
	w.manager.own(hosts[1], node, nil)
	w.manager.own(hosts[0], nil, podless)
	w.manager.own(hosts[1], nil, podless)
	if first, second := w.manager.ownedOf(hosts[0], []string{"n0"}), w.manager.ownedOf(hosts[1], []string{"n0"}); len(first) != 0 || len(second) != 1 {
		t.Errorf("the selections have %v and %v", first, second)
	}
}

func TestMetricsContainStatesGatesAndBudgets(t *testing.T) {
	w := started(t, 3, policyOf(1), func(w *world) {
		w.manager.WithValidationEnabled("app=validator")
	})
	w.eventually("a node in validation", func() bool { return len(w.inState(UpgradeStateValidationRequired)) == 1 })
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.manager.Collector())
	for _, one := range []struct {
		metric string
		labels map[string]string
		value  float64
	}{
		{"driverupgrade_nodes", map[string]string{"driver": "nvidia.com/gpu", "state": "validation-required"}, 1},
		{"driverupgrade_nodes", map[string]string{"state": "upgrade-required"}, 2},
		{"driverupgrade_nodes", map[string]string{"state": "upgrade-failed"}, 0},
		{"driverupgrade_nodes_blocked", map[string]string{"reason": "MaxParallel"}, 2},
		{"driverupgrade_budget_slots", map[string]string{"kind": "used"}, 1},
		{"driverupgrade_budget_unavailable", map[string]string{"kind": "used"}, 1},
		{"driverupgrade_nodes_isolated", map[string]string{"scope": "Node"}, 1},
		{"driverupgrade_nodes_isolated", map[string]string{"scope": "Devices"}, 0},
		{"driverupgrade_pods_kept_total", map[string]string{"driver": "nvidia.com/gpu"}, 0},
		{"driverupgrade_leader", map[string]string{"driver": "nvidia.com/gpu"}, 1},
		{"driverupgrade_auto_upgrade", nil, 1},
		{"driverupgrade_paused", nil, 0},
		{"driverupgrade_last_progress_timestamp_seconds", nil, 1_700_000_000},
		{"driverupgrade_rollout_halted", nil, -1},
		{"driverupgrade_rollout_stage", nil, -1},
		{"driverupgrade_rollout_gangs", nil, -1},
	} {
		w.eventually(one.metric, func() bool { return metricOf(t, registry, one.metric, one.labels) == one.value })
	}
	w.manager.Pause()
	if paused := metricOf(t, registry, "driverupgrade_paused", nil); paused != 1 {
		t.Errorf("paused: %v", paused)
	}
	w.clock.Step(time.Minute)
	w.cluster.SetValidator(w.inState(UpgradeStateValidationRequired)[0], true)
	w.eventually("progress", func() bool {
		return metricOf(t, registry, "driverupgrade_last_progress_timestamp_seconds", nil) >= 1_700_000_060
	})
}

func TestMetricsContainNodesThatHaveOnlyACordonOfTheUpgrade(t *testing.T) {
	w := newWorld(t, 4)
	for _, node := range w.nodes {
		w.cluster.LoseDriverPod(node)
	}
	w.cluster.Annotate("n0", "driverupgrade/cordoned-by", "example.com/nic,nvidia.com/gpu")
	w.cluster.Annotate("n1", "nvidia.com/gpu-driver-upgrade.stage", "drain-required@1700000000")
	w.cluster.Cordon("n1")
	w.cluster.Annotate("n2", "driverupgrade/cordoned-by", "example.com/nic") // another driver's cordon
	w.cluster.Cordon("n3")                                                   // an administrator's cordon
	w.build(t.Context())
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.manager.Collector())
	if nodes := metricOf(t, registry, "driverupgrade_nodes", map[string]string{"state": "unknown"}); nodes != 2 {
		t.Errorf("%v nodes instead of 2", nodes)
	}
}

// metricOf returns the value of the first metric with this name and these labels, or -1 if there is no such metric.
func metricOf(t *testing.T, registry *prometheus.Registry, name string, wanted map[string]string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
	metrics:
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if value, asked := wanted[label.GetName()]; asked && value != label.GetValue() {
					continue metrics
				}
			}
			return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return -1
}

func TestManagersOfSeveralDriversShareARegistry(t *testing.T) {
	w := newWorld(t, 1)
	elected := make(chan struct{})
	other, err := NewManager(logr.Discard(), w.cluster.Config(), nil, StateOptions{}, WithDomain("acme.example"), WithDriverName("fpga"), WithElected(elected))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.manager.Collector(), other.Collector())
	for _, manager := range []*Manager{w.manager, other} {
		if _, err := manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels); err != nil {
			t.Fatal(err)
		}
	}
	value := func(name, driver string) float64 {
		return metricOf(t, registry, name, map[string]string{"driver": driver})
	}
	if leads, waits := value("driverupgrade_leader", "nvidia.com/gpu"), value("driverupgrade_leader", "acme.example/fpga"); leads != 1 || waits != 0 {
		t.Errorf("driverupgrade_leader is %v and %v", leads, waits)
	}
	close(elected)
	if leads := value("driverupgrade_leader", "acme.example/fpga"); leads != 1 {
		t.Errorf("driverupgrade_leader of the elected replica is %v", leads)
	}
	if nodes := value("driverupgrade_nodes", "acme.example/fpga"); nodes < 0 {
		t.Error("the second Manager has no driverupgrade_nodes")
	}
}

func TestAClosedManagerReportsNoMetrics(t *testing.T) {
	w := newWorld(t, 1)
	registry := prometheus.NewPedanticRegistry()
	closed := w.manager
	registry.MustRegister(closed.Collector())
	w.apply(t.Context(), policyOf(1))
	w.manage(setup{}) // closes the previous Manager
	if families, err := registry.Gather(); err != nil || len(families) > 0 {
		t.Errorf("after Close: %v, %v", families, err)
	}
	registry.MustRegister(w.manager.Collector())
	w.apply(t.Context(), policyOf(1))
	if leads := metricOf(t, registry, "driverupgrade_leader", nil); leads != 1 {
		t.Errorf("driverupgrade_leader of the new Manager is %v", leads)
	}
	w.manager.Close()
	if _, err := closed.BuildState(t.Context(), fakecluster.Namespace, driverLabels); err != nil {
		t.Fatal(err)
	}
	if leads := metricOf(t, registry, "driverupgrade_leader", nil); leads != 1 {
		t.Errorf("driverupgrade_leader after another BuildState is %v", leads)
	}
}

func TestMetricsContainTheRolloutAndFindings(t *testing.T) {
	w := newRollout(t, 2)
	w.awaitApproval()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.manager.Collector())
	for metric, want := range map[string]float64{"driverupgrade_rollout_stage": 0, "driverupgrade_rollout_halted": 0, "driverupgrade_rollout_window_open": 1} {
		if value := metricOf(t, registry, metric, nil); value != want {
			t.Errorf("%s is %v, not %v", metric, value, want)
		}
	}
	w.cluster.SetObserved(1)
	w.eventually("the finding", func() bool {
		w.applyPolicy(canaryFirst)
		return metricOf(t, registry, "driverupgrade_findings", map[string]string{"code": "RevisionUnknown"}) == 1
	})
}

func (w *world) inState(state string) (found []string) {
	for _, node := range w.nodes {
		if w.cluster.State(node) == state {
			found = append(found, node)
		}
	}
	return found
}
