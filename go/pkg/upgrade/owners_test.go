package upgrade

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	testclock "k8s.io/utils/clock/testing"

	"driverupgrade.example/go/internal/fakecluster"
)

var owners = []string{"gold", "silver"}

// newOwners returns a world in which each owner has a driver and three nodes. All nodes are done with revision 1, and
// revision 2 has just been released. The Manager uses a ledger.
func newOwners(t *testing.T, options ...Option) *world {
	t.Helper()
	SetDriverName("gpu")
	w := &world{t: t, cluster: fakecluster.NewOwned(owners...), clock: testclock.NewFakeClock(time.Unix(1_700_000_000, 0)), events: &recorder{}}
	t.Cleanup(w.cluster.Close)
	for _, owner := range owners {
		for _, number := range []string{"-0", "-1", "-2"} {
			w.nodes = append(w.nodes, owner+number)
			w.cluster.AddOwnedNode(owner+number, owner)
		}
	}
	w.manageWithLedger(options...)
	w.applyOwned()
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	w.cluster.NewDriver()
	return w
}

func (w *world) partOf(state *ClusterUpgradeState, owner string) *ClusterUpgradeState {
	return PartOf(state, owner, func(_ string, labels map[string]string) bool { return labels[fakecluster.OwnerLabel] == owner })
}

// applyOwned applies the same policy to the part of each owner.
func (w *world) applyOwned() {
	w.t.Helper()
	state := w.build(w.t.Context())
	for _, owner := range owners {
		if err := w.manager.ApplyPolicy(w.t.Context(), w.partOf(state, owner), []byte(canaryFirst)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// upgradedTo counts the nodes that are done with this revision of their driver.
func (w *world) upgradedTo(revision string) (nodes int) {
	for _, node := range w.nodes {
		if w.cluster.Revision(node) == revision && w.cluster.State(node) == UpgradeStateDone {
			nodes++
		}
	}
	return nodes
}

func (w *world) waitsFor(owner, approval string) bool {
	return slices.ContainsFunc(w.manager.Rollouts(), func(one Rollout) bool {
		return one.Owner == owner && one.WaitsFor != nil && one.WaitsFor.Subject == GateSubject{Kind: "Approval", Name: approval}
	})
}

// awaitApprovals lets the canaries of both owners soak, until both rollouts wait for an approval.
func (w *world) awaitApprovals(gold, silver string) {
	w.t.Helper()
	w.eventually("the canaries", func() bool {
		w.applyOwned()
		return w.upgradedTo(gold) == 1 && w.upgradedTo(silver) == 1
	})
	w.eventually("the gates of the approvals", func() bool {
		w.applyOwned()
		w.clock.Step(10 * time.Second)
		return w.waitsFor("gold", "canary@"+gold) && w.waitsFor("silver", "canary@"+silver)
	})
}

func TestEachOwnerHasItsOwnRollout(t *testing.T) {
	w := newOwners(t)
	w.awaitApprovals("gold-2", "silver-2")
	if err := w.manager.Approve(t.Context(), "canary"); err == nil || !contains(err.Error(), "gold, silver", "ApprovePart") {
		t.Errorf("an approval that may be of either: %v", err)
	}
	for _, owner := range owners {
		if stats := w.manager.StatsOf(owner); stats.Total != 3 || stats.Pending != 2 || stats.Waiting["Approval"] != 2 {
			t.Errorf("the numbers of %s: %+v", owner, stats)
		}
		progressing := meta.FindStatusCondition(w.manager.ConditionsOf(owner), ConditionProgressing)
		if progressing == nil || progressing.Reason != "Approval" || !contains(progressing.Message, "1 of 3 nodes done") {
			t.Errorf("the condition of %s: %+v", owner, progressing)
		}
	}
	if stats := w.manager.StatsOf("bronze"); stats.Total != 0 {
		t.Errorf("the numbers of an owner without nodes: %+v", stats)
	}
	if err := w.manager.ApprovePart(t.Context(), "bronze", "canary"); err == nil || !contains(err.Error(), "there is no rollout") {
		t.Errorf("the approval of an owner that there is not: %v", err)
	}
	if err := w.manager.ApprovePart(t.Context(), "gold", "canary"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the other nodes of gold", func() bool { w.applyOwned(); return w.upgradedTo("gold-2") == 3 })
	w.applyOwned()
	if upgraded := w.upgradedTo("silver-2"); upgraded != 1 || !w.waitsFor("silver", "canary@silver-2") {
		t.Errorf("%d nodes of silver are upgraded before its approval: %+v", upgraded, w.manager.Rollouts())
	}
	if err := w.manager.Approve(t.Context(), "canary"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the other nodes of silver", func() bool { w.applyOwned(); return w.upgradedTo("silver-2") == 3 })
	data := w.cluster.ConfigMap("driver-upgrades")
	for _, entry := range []string{"_rollout_nvidia.com_gpu_gold", "_rollout_nvidia.com_gpu_silver"} {
		if data[entry] == nil {
			t.Errorf("the ledger has no %s: %v", entry, data)
		}
	}
	if data["_rollout_nvidia.com_gpu"] != nil {
		t.Errorf("the ledger has a record without an owner: %v", data)
	}
}

func TestThePartsOfSeveralOwnersShareTheTotal(t *testing.T) {
	w := newOwners(t, WithParallelTotal(1))
	w.cluster.StartUnready()
	inProgress := func() (nodes []string) {
		for _, node := range w.nodes {
			if state := w.cluster.State(node); state != UpgradeStateDone && state != UpgradeStateUpgradeRequired {
				nodes = append(nodes, node)
			}
		}
		return nodes
	}
	waits := func(node string) bool {
		gate, _ := w.manager.Explain(node)
		return gate.Reason == "MaxParallel" && contains(gate.Detail, "shared by all owners: 1 of 1")
	}
	var first string
	w.eventually("a canary, and a canary that waits for its slot", func() bool {
		w.applyOwned()
		busy := inProgress()
		if len(busy) > 1 {
			t.Fatalf("more nodes than the total are in progress: %v", busy)
		}
		if len(busy) == 0 || !slices.ContainsFunc(w.nodes, waits) {
			return false
		}
		first = busy[0]
		return strings.HasSuffix(w.cluster.Revision(first), "-2")
	})
	w.cluster.SetReady(first)
	w.eventually("the other canary", func() bool {
		w.applyOwned()
		busy := inProgress()
		return len(busy) == 1 && busy[0] != first
	})
}

func TestANewDriverOfOneOwnerStartsNoRolloutOfAnother(t *testing.T) {
	w := newOwners(t)
	w.awaitApprovals("gold-2", "silver-2")
	w.cluster.NewDriverFor("silver")
	if err := w.manager.ApprovePart(t.Context(), "gold", "canary"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the new drivers", func() bool {
		w.applyOwned()
		return w.upgradedTo("gold-2") == 3 && w.upgradedTo("silver-3") == 1
	})
}

func TestANewManagerFollowsTheRecordOfEachOwner(t *testing.T) {
	w := newOwners(t)
	w.awaitApprovals("gold-2", "silver-2")
	w.manageWithLedger()
	w.applyOwned()
	w.awaitApprovals("gold-2", "silver-2")
	if err := w.manager.ApprovePart(t.Context(), "silver", "canary"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the other nodes of silver", func() bool { w.applyOwned(); return w.upgradedTo("silver-2") == 3 })
	if upgraded := w.upgradedTo("gold-2"); upgraded != 1 {
		t.Errorf("%d nodes of gold are upgraded before its approval", upgraded)
	}
}

func TestAPartHasItsNodesWithoutDriverPods(t *testing.T) {
	w := newOwners(t)
	w.cluster.LoseDriverPod("gold-0")
	var part *ClusterUpgradeState
	w.eventually("the state without the pod", func() bool {
		part = w.partOf(w.build(t.Context()), "gold")
		return len(part.podless) == 1
	})
	parts, foreign, err := partsOf(part)
	if err != nil || len(foreign) > 0 || len(parts) != 1 || parts[0].Owner != "gold" {
		t.Fatalf("the parts are %+v, %v, %v", parts, foreign, err)
	}
	if nodes := slices.Sorted(slices.Values(parts[0].Nodes)); !slices.Equal(nodes, []string{"gold-0", "gold-1", "gold-2"}) {
		t.Errorf("the part has %v", nodes)
	}
	if other := w.partOf(w.build(t.Context()), "silver"); len(other.podless) > 0 {
		t.Errorf("the part of the other owner has %v", other.podless)
	}
}

func TestPartsWithoutAnOwnerAreRefusedWithALedger(t *testing.T) {
	w := newOwners(t)
	w.manageWithLedger()
	state := w.build(t.Context())
	half := NewClusterUpgradeState()
	for name, nodes := range state.NodeStates {
		half.NodeStates[name] = nodes[:len(nodes)/2]
		state.NodeStates[name] = nodes[len(nodes)/2:]
	}
	first := w.manager.ApplyPolicy(t.Context(), &half, []byte(canaryFirst))
	second := w.manager.ApplyPolicy(t.Context(), state, []byte(canaryFirst))
	if first != nil || second == nil || !contains(second.Error(), "with a ledger, all nodes need") {
		t.Errorf("the first: %v, the second: %v", first, second)
	}
	err := w.manager.ApplyPolicy(t.Context(), w.partOf(w.build(t.Context()), "gold"), []byte(canaryFirst))
	if err != nil {
		t.Errorf("a part with an owner beside: %v", err)
	}
}
