package upgrade

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"driverupgrade.example/go/internal/fakecluster"
)

// W1(d): NVIDIA's operator runs in the same cluster, and removes the state labels that it knows.
func TestAManagerUsesOnlyTheKeysOfItsDomainAndDriver(t *testing.T) {
	w := newWorld(t, 2)
	w.manage(setup{options: []Option{WithDomain("example.com"), WithDriverName("npu")}})
	keys := w.manager.Keys()
	if label := keys.StateLabel(); label != "example.com/npu-driver-upgrade-state" {
		t.Fatalf("the state label is %s", label)
	}
	if selector := keys.SkipDrainPodSelector(); selector != "example.com/npu-driver-upgrade-drain.skip!=true" {
		t.Errorf("the selector is %s", selector)
	}
	done := func(revision string) func() bool {
		return func() bool {
			for _, node := range w.nodes {
				if w.cluster.Label(node, keys.StateLabel()) != UpgradeStateDone || w.cluster.Revision(node) != revision {
					return false
				}
			}
			return true
		}
	}
	w.apply(t.Context(), policyOf(1))
	w.eventually("the states of current nodes", done("hash-1"))
	w.cluster.NewDriver()
	w.eventually("the new driver on every node", done("hash-2"))
	for _, node := range w.nodes {
		if w.cluster.TimesCordoned(node) != 1 || w.cluster.Cordoned(node) {
			t.Errorf("%s: cordoned %d times", node, w.cluster.TimesCordoned(node))
		}
		for key := range w.cluster.Keys(node) {
			if strings.HasPrefix(key, "nvidia.com/") {
				t.Errorf("%s has had %s", node, key)
			}
		}
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.manager.Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if driver := metric.GetLabel()[0].GetValue(); driver != "example.com/npu" {
				t.Errorf("%s is of driver %q", family.GetName(), driver)
			}
		}
	}
	var state *ClusterUpgradeState
	w.eventually("the end by the state's own keys", func() bool {
		state = w.build(t.Context())
		return len(state.NodeStates[UpgradeStateDone]) == 2
	})
	w.cluster.SetLabel("n0", keys.SkipNodeLabel(), "true")
	w.cluster.NewDriver()
	w.eventually("a state that is over although a node is skipped", func() bool {
		state = w.build(t.Context())
		skipped := state.NodeStates[UpgradeStateUpgradeRequired]
		return len(skipped) == 1 && skipped[0].Node.Labels[keys.SkipNodeLabel()] == "true" && keysOf(state) == keys
	})
}

func TestBuildStateRejectsAnInvalidDomain(t *testing.T) {
	w := newWorld(t, 1)
	w.manage(setup{options: []Option{WithDomain("not a domain")}})
	if _, err := w.manager.BuildState(t.Context(), fakecluster.Namespace, driverLabels); err == nil || !strings.Contains(err.Error(), "not a domain") {
		t.Errorf("got %v", err)
	}
}
