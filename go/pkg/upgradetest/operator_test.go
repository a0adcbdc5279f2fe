package upgradetest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"

	"driverupgrade.example/go/pkg/upgrade"
	"driverupgrade.example/go/pkg/upgradetest"
)

// usesFPGA is the operator's own callback, which selects the pods that use the driver.
func usesFPGA(pod corev1.Pod) bool { return pod.Labels["uses"] == "fpga" }

func TestAnOperatorEvictsOnlyThePodsThatUseTheDriver(t *testing.T) {
	// A cluster with three nodes. Two pods run on the first node, and only one of them uses the driver.
	nodes := []string{"node-1", "node-2", "node-3"}
	cluster := upgradetest.New(t, nodes...)
	cluster.AddPod("training", nodes[0], map[string]string{"uses": "fpga"})
	cluster.AddPod("web", nodes[0], nil)

	// The operator: its identity, its callback, its policy, and a clock that only the test advances.
	clock := testclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	states, err := upgrade.NewManager(logr.Discard(), cluster.Config(), nil, upgrade.StateOptions{},
		upgrade.WithDomain("example.com"), upgrade.WithDriverName("fpga"), upgrade.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(states.Close)
	states.WithPodDeletionEnabled(usesFPGA)
	policy := []byte(`{autoUpgrade: true, maxParallelUpgrades: 1, podDeletion: {timeoutSeconds: 300}}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reconcile := func() error {
		state, err := states.BuildState(ctx, upgradetest.Namespace, upgradetest.DriverLabels())
		if err != nil {
			return err
		}
		return states.ApplyPolicy(ctx, state, policy)
	}
	upgraded := func(node string) bool {
		return cluster.Revision(node) == "hash-2" && cluster.Label(node, states.Keys().StateLabel()) == upgrade.UpgradeStateDone
	}

	// A new driver arrives, and the server refuses the first eviction.
	refused := false
	cluster.SetFault(func(verb, path string) bool {
		first := !refused && strings.HasSuffix(path, "/eviction")
		refused = refused || first
		return !first
	})
	cluster.NewDriver()
	err = cluster.Await(ctx, func() bool {
		_ = reconcile() // controller-runtime would call it again after an error
		clock.Step(time.Second)
		return upgraded(nodes[0]) && upgraded(nodes[1]) && upgraded(nodes[2])
	})
	if err != nil {
		gate, _ := states.Explain(nodes[0])
		t.Fatalf("%v; the first node waits for %s: %s", err, gate.Reason, gate.Detail)
	}
	if cluster.HasPod("training") || !cluster.HasPod("web") {
		t.Errorf("training stays: %v, web stays: %v", cluster.HasPod("training"), cluster.HasPod("web"))
	}
	for _, node := range nodes {
		if cluster.IsCordoned(node) {
			t.Errorf("%s is still cordoned", node)
		}
	}
}
