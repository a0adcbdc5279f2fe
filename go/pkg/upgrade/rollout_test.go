package upgrade

import (
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/fakecluster"
)

const canaryFirst = `
autoUpgrade: true
maxParallelUpgrades: 0
rollout:
  stages:
  - {name: canary, nodes: 1, soakSeconds: 60, approval: Manual}
`

// newRollout returns a world whose nodes are done with revision 1. Revision 2 has just been released, and the policy
// canaryFirst applies. The Manager uses a ledger.
func newRollout(t *testing.T, nodes int) *world {
	t.Helper()
	w := newWorld(t, nodes)
	w.manageWithLedger()
	w.applyPolicy(canaryFirst)
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	return w
}

func (w *world) manageWithLedger(more ...Option) {
	w.manage(setup{log: logr.Discard(), options: append(more, WithLedger("gpu-operator", "driver-upgrades"))})
}

func (w *world) applyPolicy(policy string) {
	w.t.Helper()
	if err := w.manager.ApplyPolicy(w.t.Context(), w.build(w.t.Context()), []byte(policy)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) upgraded() (nodes int) {
	for _, node := range w.nodes {
		if w.cluster.Revision(node) == "hash-2" && w.cluster.State(node) == UpgradeStateDone {
			nodes++
		}
	}
	return nodes
}

// awaitApproval lets the canary soak, and returns the rollout that then waits for an approval.
func (w *world) awaitApproval() (found Rollout) {
	w.t.Helper()
	w.eventually("the canary", func() bool { return w.upgraded() == 1 })
	w.eventually("the gate of the approval", func() bool {
		w.applyPolicy(canaryFirst)
		found, _ = w.manager.Rollout()
		if found.WaitsFor != nil && found.WaitsFor.Reason == "Soak" {
			w.clock.Step(time.Minute)
		}
		return found.WaitsFor != nil && found.WaitsFor.Reason == "Approval"
	})
	return found
}

func TestARolloutInStagesWaitsForItsApproval(t *testing.T) {
	w := newRollout(t, 4)
	found := w.awaitApproval()
	if found.Stage != "canary" || len(found.Stages) != 2 || found.Stages[0] != (RolloutStage{Name: "canary", Nodes: 1, Done: 1}) || found.Stages[1].Nodes != 3 {
		t.Errorf("the rollout is %+v", found)
	}
	if found.WaitsFor.Subject != (GateSubject{Kind: "Approval", Name: "canary@hash-2"}) {
		t.Errorf("it waits for %+v", found.WaitsFor)
	}
	if upgraded := w.upgraded(); upgraded != 1 {
		t.Errorf("%d nodes are upgraded before the approval", upgraded)
	}
	if err := w.manager.Approve(t.Context(), "fleet"); err == nil || !contains(err.Error(), "approve stage fleet", "does not wait for an approval") {
		t.Errorf("the approval of a stage that there is not: %v", err)
	}
	if err := w.manager.Approve(t.Context(), "canary"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the other nodes", func() bool { return w.upgraded() == 4 })
	if data := w.cluster.ConfigMap("driver-upgrades"); data["_rollout_nvidia.com_gpu"] == nil {
		t.Errorf("the ledger has %v", data)
	}
}

func TestARolloutThatTheOperatorReportsAsSickIsHaltedUntilItIsApproved(t *testing.T) {
	w := newRollout(t, 4)
	w.awaitApproval()
	w.manager.ReportSick("Xid 79 on 12 nodes")
	halted := func() bool {
		found, _ := w.manager.Rollout()
		return found.Halted != nil && contains(found.Halted.Detail, "Xid 79 on 12 nodes")
	}
	w.eventually("the halt", halted)
	w.applyPolicy(canaryFirst)
	if !halted() {
		t.Error("the next policy lifted the halt")
	}
	w.manager.ReportSick("")
	w.applyPolicy(canaryFirst)
	if !halted() {
		t.Error("the end of the report lifted the halt")
	}
	if err := w.manager.Approve(t.Context(), "canary"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the other nodes", func() bool {
		w.applyPolicy(canaryFirst)
		w.clock.Step(10 * time.Second) // the canary soaks again
		return w.upgraded() == 4
	})
}

func TestANewManagerFollowsTheStoredRecord(t *testing.T) {
	w := newRollout(t, 3)
	w.awaitApproval()
	w.manageWithLedger()
	w.applyPolicy(canaryFirst)
	w.awaitApproval()
	if upgraded := w.upgraded(); upgraded != 1 {
		t.Errorf("%d nodes are upgraded before the approval", upgraded)
	}
	if err := w.manager.Approve(t.Context(), "canary"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the other nodes", func() bool { return w.upgraded() == 3 })
}

func TestAWindowAppliesInItsTimeZone(t *testing.T) {
	const night = `{autoUpgrade: true, rollout: {windows: [{start: "22:00", durationSeconds: 14400, timeZone: Europe/Berlin}]}}`
	w := newWorld(t, 1)
	w.clock.SetTime(time.Date(2026, 7, 1, 19, 30, 0, 0, time.UTC)) // 21:30 in Berlin
	w.manageWithLedger()
	w.applyPolicy(night)
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	gate := w.awaitGate("n0", "Window")
	if opens := time.Date(2026, 7, 1, 20, 0, 0, 0, time.UTC); !gate.NotBefore.Equal(opens) {
		t.Errorf("the window opens at %v", gate.NotBefore)
	}
	w.clock.Step(31 * time.Minute)
	w.eventually("the new driver", func() bool { w.applyPolicy(night); return w.upgraded() == 1 })
}

func TestNodesWithPodsOfOneJobStartTogether(t *testing.T) {
	const together = `
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 2
drain: {enable: true}
rollout: {gangs: {mode: Together}}
`
	w := newWorld(t, 4)
	w.manageWithLedger()
	first, last := w.nodes[0], w.nodes[3]
	w.cluster.AddJob("train", "train-0", first)
	w.cluster.AddJob("train", "train-1", last)
	w.applyPolicy(together)
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	want := RolloutGangs{Gangs: 1, Units: 1, Interruptions: 1, ByName: 2, ByInterruptions: map[int]int{}}
	w.eventually("the counts of gangs", func() bool {
		w.applyPolicy(together)
		found, _ := w.manager.Rollout()
		return reflect.DeepEqual(found.Gangs, &want)
	})
	w.eventually("both nodes of the job", func() bool {
		w.applyPolicy(together)
		return w.cluster.Cordoned(first) && w.cluster.Cordoned(last)
	})
	if upgraded := w.upgraded(); upgraded != 2 {
		t.Errorf("%d nodes were upgraded before the nodes of the job, not the two idle ones", upgraded)
	}
	w.eventually("all nodes", func() bool { w.applyPolicy(together); return w.upgraded() == 4 })
}

// The node was deleted while the operator was down, so no watch reports its deletion.
func TestAGrantOfADeletedNodeUsesNoSlot(t *testing.T) {
	w := newWorld(t, 1)
	w.cluster.SetConfigMap("driver-upgrades", fakecluster.Object{"nvidia.com_gpu": "uid-of-a-deleted-node 7\n"})
	var accepts atomic.Value
	config := w.cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.Header.Get("Accept"), "application/json;as=PartialObjectMetadataList") {
				accepts.Store(r.URL.Path)
			}
			return next.RoundTrip(r)
		})
	})
	w.manage(setup{log: logr.Discard(), config: config, options: []Option{WithLedger(fakecluster.Namespace, "driver-upgrades")}})
	w.apply(t.Context(), policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	w.eventually("the new driver", func() bool { return w.upgraded() == 1 })
	if path := accepts.Load(); path != "/api/v1/nodes" {
		t.Errorf("the metadata of %v were listed", path)
	}
}

func TestAPauseAppliesToLaterPolicies(t *testing.T) {
	w := newWorld(t, 2)
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.manager.Pause()
	w.cluster.NewDriver()
	if gate := w.awaitGate("n0", "Paused"); gate.Detail != "paused by the operator" {
		t.Errorf("the gate says %q", gate.Detail)
	}
	if text, err := w.manager.rolloutDocument(engine.RolloutFacts{}); err != nil || !contains(string(text), `"detail":"paused by the operator"`) {
		t.Errorf("the document says %s, %v", text, err)
	}
	w.apply(t.Context(), policyOf(1))
	if gate := w.awaitGate("n1", "Paused"); gate.Detail != "paused by the operator" {
		t.Errorf("the gate under the next policy says %q", gate.Detail)
	}
	if w.cluster.TimesCordoned("n0")+w.cluster.TimesCordoned("n1") > 0 {
		t.Errorf("a node has started: %s", w.states())
	}
	w.manager.Resume()
	w.apply(t.Context(), policyOf(1))
	w.eventually("the new driver", func() bool { return w.upgraded() == 2 })
}

func TestPoliciesThatApplyPolicyRefuses(t *testing.T) {
	w := newWorld(t, 1)
	for policy, wanted := range map[string]string{
		canaryFirst:                           "the engine has no ledger",
		"autoUpgrade: [":                      "the upgrade policy",
		"":                                    "the upgrade policy",
		"{autoUpgrade: true, maxParallel: 1}": "maxParallel: unknown field",
		"autoUpgrades: true":                  "autoUpgrades: unknown field",
		`autoUpgrade: "true"`:                 "autoUpgrade: ",
		"autoUpgrade: 1":                      "autoUpgrade: ",
		"maxParallelUpgrades: lots":           "maxParallelUpgrades: ",
		"hello: world":                        "hello: unknown field",
		"{autoUpgrade: true, rollout: {closedTimeZone: Mars/Olympus}}": `time zone "Mars/Olympus" is not known`,
	} {
		err := w.manager.ApplyPolicy(t.Context(), w.build(t.Context()), []byte(policy))
		if err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

func TestAnInvalidPolicyDoesNotReplaceThePreviousPolicy(t *testing.T) {
	w := newWorld(t, 2)
	w.applyPolicy("autoUpgrade: true")
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	for _, typo := range []string{"autoUpgrades: true", "{autoUpgrade: true, maxParallel: 1}"} {
		if err := w.manager.ApplyPolicy(t.Context(), w.build(t.Context()), []byte(typo)); err == nil {
			t.Errorf("no error: %s", typo)
		}
	}
	w.cluster.NewDriver()
	w.eventually("the new driver", func() bool { return w.upgraded() == 2 })
	w.applyPolicy("{autoUpgrade: false, maxParallelUpgrades: 7}") // valid, so upgrades are off
	w.cluster.NewDriver()
	w.eventually("the new driver in the state", func() bool {
		state := w.build(t.Context())
		return len(state.NodeStates[UpgradeStateDone]) == 2 && state.NodeStates[UpgradeStateDone][0].DriverDaemonSet.Generation == 3
	})
	if cordoned := w.cluster.TimesCordoned("n0"); cordoned != 1 {
		t.Errorf("n0 was cordoned %d times", cordoned)
	}
}

func TestAnExplicitStopInAnInvalidPolicyTakesEffect(t *testing.T) {
	w := newWorld(t, 2)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.manager.Collector())
	refuse := func(policy string) {
		t.Helper()
		if err := w.manager.ApplyPolicy(t.Context(), w.build(t.Context()), []byte(policy)); err == nil || !contains(err.Error(), "bogus: unknown field") {
			t.Errorf("%s: %v", policy, err)
		}
	}
	w.applyPolicy("autoUpgrade: true")
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	refuse("{autoUpgrade: true, paused: true, bogus: 1}")
	w.cluster.NewDriver()
	for _, node := range w.nodes {
		if gate := w.awaitGate(node, "Paused"); !contains(gate.Detail, "paused by a policy with an error") {
			t.Errorf("the gate of %s says %q", node, gate.Detail)
		}
	}
	w.applyPolicy("autoUpgrade: true")
	w.eventually("the new driver", func() bool { return w.upgraded() == 2 })
	refuse("{autoUpgrade: false, bogus: 1}")
	// The order has ended: nothing is left that could start a node.
	if on := metricOf(t, registry, "driverupgrade_auto_upgrade", nil); on != 0 {
		t.Errorf("driverupgrade_auto_upgrade is %v", on)
	}
	if err := w.manager.SetExtraPolicy([]byte(`{"autoUpgrade": false, "bogus": 1}`)); err != nil {
		t.Fatal(err)
	}
	w.applyPolicy("autoUpgrade: true")
	if err := w.manager.ApplyState(t.Context(), w.build(t.Context()), policyOf(1)); err == nil {
		t.Error("ApplyState returned no error")
	}
	if on := metricOf(t, registry, "driverupgrade_auto_upgrade", nil); on != 0 {
		t.Errorf("driverupgrade_auto_upgrade after ApplyState is %v", on)
	}
}

func TestWarningsNameFieldsWithoutEffect(t *testing.T) {
	w := newWorld(t, 1)
	w.manageWithLedger()
	const warning = "retry.backoffSeconds: has no effect without maxAttempts"
	w.eventually("the warning", func() bool {
		w.applyPolicy("autoUpgrade: true\nretry: {backoffSeconds: 90}\n")
		found := w.manager.Warnings()
		return len(found) == 1 && found[0] == warning
	})
	condition := meta.FindStatusCondition(w.manager.Conditions(), ConditionPolicyWarning)
	if condition == nil || condition.Status != metav1.ConditionTrue || condition.Message != warning {
		t.Errorf("the condition is %v", condition)
	}
	w.eventually("the mended policy", func() bool {
		w.applyPolicy("autoUpgrade: true\n")
		return len(w.manager.Warnings()) == 0
	})
}
